// Starts `layoutcheck server` for Python files, and gives its two commands a name in the palette.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function ask(command) {
  const editor = vscode.window.activeTextEditor;
  if (!client || !editor || editor.document.languageId !== "python") return;
  await editor.document.save();
  await client.sendRequest("workspace/executeCommand", { command, arguments: [editor.document.uri.toString()] });
}

exports.activate = async context => {
  const [command, ...args] = vscode.workspace.getConfiguration("layoutcheck").get("command");
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const server = { command, args, options: folder ? { cwd: folder } : {} };
  client = new LanguageClient("layoutcheck", "layoutcheck", server, { documentSelector: [{ language: "python", scheme: "file" }] });
  context.subscriptions.push(
    client,
    vscode.commands.registerCommand("layoutcheck.traceThisFile", () => ask("layoutcheck.trace")),
    vscode.commands.registerCommand("layoutcheck.repairThisFile", () => ask("layoutcheck.repair")),
  );
  await client.start();
};

exports.deactivate = () => client?.stop();
