"use strict";
// Connects the pictures: reads the runs out of their data-* attributes, says who moves a byte and what a thread
// does. Tokens are those of pictures/runs.py: instruction:offset+units, then xCOUNT/STEP/STEP for regular runs.
(() => {
  const decode = text => {
    const out = [];
    for (const token of (text || "").split(" ")) {
      const m = /^(-?\d+):(-?\d+)\+(\d+)(?:x(\d+)\/(-?\d+)\/(-?\d+))?$/.exec(token);
      if (!m) continue;
      const [k, at, units, count, dk, dat] = m.slice(1).map(Number);
      for (let i = 0; i < (count || 1); i++) out.push([k + i * (dk || 0), at + i * (dat || 0), units]);
    }
    return out;
  };
  const make = (name, attributes, ...children) => {
    const node = document.createElement(name);
    for (const key in attributes || {}) node.setAttribute(key, attributes[key]);
    node.append(...children);
    return node;
  };
  const drawn = (name, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const sign = n => (n < 0 ? "" : "+") + n;
  const names = { src: "source", dst: "destination" };
  const inspector = document.getElementById("inspector");
  let kept = null;

  // The model of one panel, made when it is first looked at.
  const models = new WeakMap();
  const model = panel => {
    if (models.has(panel)) return models.get(panel);
    const d = panel.dataset;
    const it = {
      panel, side: d.side, kind: d.kind, own: d.private === "1", pitch: +d.pitch, cell: +d.cell, first: +d.first,
      columns: +d.columns, scale: +d.scale, high: +(d.high || d.scale), bits: +(d.unitBits || 8),
      starts: decode(d.starts).map(run => run[1]), byRow: new Map(), threads: new Map(), paths: new Map(),
    };
    it.rowOf = new Map(it.starts.map((start, row) => [start, row]));
    for (const path of panel.querySelectorAll("[data-runs]")) {
      const thread = +path.dataset.thread;
      const runs = decode(path.dataset.runs).map(run => ({ thread, k: run[0], at: run[1], units: run[2] }));
      it.threads.set(thread, (it.threads.get(thread) || []).concat(runs));
      it.paths.set(thread, (it.paths.get(thread) || []).concat(path));
      let before = null;
      for (const run of runs) {
        // Runs of one instruction that are cut, or scattered, number their values on.
        run.skip = before && before.k === run.k && it.kind === "moved" ? before.skip + before.units : 0;
        before = run;
        const row = it.rowOf.get(it.own ? thread : Math.floor(run.at / it.pitch) * it.pitch);
        if (!it.byRow.has(row)) it.byRow.set(row, []);
        it.byRow.get(row).push(run);
      }
    }
    models.set(panel, it);
    return it;
  };
  const offsetOf = (it, row, column) => (it.own ? 0 : it.starts[row]) + it.first + column * it.cell;
  // In the order in which the model runs them: the last one's bytes stay.
  const writersAt = (it, row, offset) => (it.byRow.get(row) || [])
    .filter(run => run.at <= offset && offset < run.at + run.units).sort((a, b) => a.k - b.k || a.thread - b.thread);
  const sibling = (panel, side) =>
    [...panel.ownerSVGElement.querySelectorAll(".lc-panel")].find(other => other.dataset.side === side);

  const lit = [];
  const dark = () => { while (lit.length) lit.pop().classList.remove("lc-on", "lc-same"); };
  const light = (nodes, name) => { for (const node of nodes) { node.classList.add(name); lit.push(node); } };

  const unitName = (it, n) => `${n} ${it.bits === 8 ? "B" : "nibbles"}`;
  // What thread `thread` does: one line an instruction, its runs on both sides.
  const instructions = (panel, thread, here) => {
    const sides = ["src", "dst"].map(side => sibling(panel, side)).map(p => p && model(p));
    const rows = new Map();
    sides.forEach((it, i) => {
      for (const run of (it && it.threads.get(thread)) || []) {
        if (!rows.has(run.k)) rows.set(run.k, [[], []]);
        rows.get(run.k)[i].push(run);
      }
    });
    const said = (it, runs) => {
      const joined = [];
      for (const run of runs) {
        const last = joined[joined.length - 1];
        if (last && last.at + last.units === run.at) last.units += run.units;
        else joined.push({ at: run.at, units: run.units });
      }
      return joined.slice(0, 8).map(run => `${sign(run.at)} (${unitName(it, run.units)})`).join(" ") +
        (joined.length > 8 ? ` and ${joined.length - 8} more` : "");
    };
    const both = sides[0] && sides[1] && sides[0].kind === "moved";
    const table = make("table", { "data-thread": thread });
    table.append(make("tr", {}, make("th", {}, both ? "instruction" : sides[0].kind === "box" ? "piece" : "value"), make("th", {}, "source"), make("th", {}, sides[1] ? "destination" : "")));
    const keys = [...rows.keys()].sort((a, b) => a - b);
    const first = Math.max(0, Math.min(keys.indexOf(here) - 128, keys.length - 256));
    for (const k of keys.slice(first, first + 256)) {
      const cells = rows.get(k).map((runs, i) => make("td", {
        [`data-${["src", "dst"][i]}`]: runs.map(run => `${run.at}+${run.units}`).join(" "),
      }, runs.length ? said(sides[i], runs) : ""));
      table.append(make("tr", { "data-instruction": k, class: k === here ? "here" : "" }, make("td", {}, String(k)), ...cells));
    }
    if (keys.length > 256) table.append(make("tr", {}, make("td", {}, `256 of ${keys.length}`)));
    return table;
  };

  const show = (panel, thread, left, here) => {
    dark();
    const cols = make("div", { class: "cols" }, left);
    const it = panel && model(panel);
    if (thread !== null && panel) {
      for (const other of panel.ownerSVGElement.querySelectorAll(".lc-panel")) {
        if (it.kind !== "box") light(model(other).paths.get(thread) || [], "lc-on");
      }
      const chooser = make("input", { type: "number", min: 0, value: thread, "aria-label": "thread" });
      chooser.addEventListener("change", () => { kept = true; showThread(panel, +chooser.value); });
      const heading = make("h3", {}, it.kind === "box" ? "TMA instruction " : "Thread ", chooser, ` of ${it.threads.size}`);
      cols.append(make("div", {}, heading, instructions(panel, thread, here)));
    }
    const close = make("button", { type: "button", class: "close" }, kept ? "let go (Esc)" : "click keeps this");
    close.addEventListener("click", release);
    inspector.replaceChildren(close, cols);
    inspector.classList.toggle("kept", Boolean(kept));
    inspector.hidden = false;
    const row = inspector.querySelector("tr.here");
    inspector.scrollTop = row ? row.offsetTop - inspector.clientHeight / 2 : 0;
  };
  const showThread = (panel, thread) => {
    const it = model(panel);
    const known = it.threads.get(thread);
    show(panel, known ? thread : null, make("div", {}, make("h3", {}, known ? `Thread ${thread}` : `There is no thread ${thread} here`)), null);
  };
  const showByte = (panel, row, offset) => {
    const it = model(panel);
    const by = writersAt(it, row, offset);
    const would = panel.closest("[data-reached]")?.dataset.reached === "0" && it.kind === "moved" ? "would be " : "";
    const verb = would + (it.kind === "asked" ? "named" : it.side === "dst" ? "written" : "read");
    const where = it.own ? `register ${it.bits === 8 ? "byte" : "nibble"} ${offset} of thread ${it.starts[row]}` :
      `${it.kind === "tile" ? "element" : it.bits === 8 ? "byte" : "nibble"} ${it.kind === "tile" ? `(${row}, ${offset - it.starts[row]})` : sign(offset)} of the ${it.kind === "tile" ? "tile" : names[it.side]}`;
    const left = make("div", { "data-side": it.side, "data-offset": offset, "data-kind": it.kind }, make("h3", {}, where));
    if (!by.length) left.append(make("div", {}, `${verb} by nobody`));
    for (const run of by.slice(-6)) {
      const value = Math.floor((offset - run.at + run.skip) / it.cell);
      left.append(make("div", { "data-by": `${run.thread}:${run.k}` },
        it.kind === "box" ? `${verb} by TMA instruction ${run.thread}, piece ${run.k} of 16 B` :
        it.kind === "moved" ? `${verb} by thread ${run.thread}, instruction ${run.k}, value ${value}` : `thread ${run.thread}, value ${run.k + value}`));
    }
    if (by.length > 6) left.append(make("div", {}, `and by ${by.length - 6} more`));
    const last = by[by.length - 1];
    show(panel, last ? last.thread : null, left, last ? last.k : null);
  };
  const release = () => { kept = null; inspector.hidden = true; dark(); for (const c of document.querySelectorAll(".lc-cursor")) c.remove(); };

  // The part of a panel that is drawn large moves to where one clicks.
  const WIDE = 25, HIGH = 23;
  const enlarge = (panel, row, column) => {
    const it = model(panel);
    const picture = panel.ownerSVGElement;
    const detail = picture.querySelector(`.lc-detail[data-side="${it.side}"]`);
    const frame = picture.querySelector(`.lc-window[data-side="${it.side}"]`);
    if (!detail || !frame || !it.threads.size) return;
    const [, , rows, columns] = detail.dataset.part.split(" ").map(Number);
    const row0 = Math.max(0, Math.min(row - (rows >> 1), it.starts.length - rows));
    const column0 = Math.max(0, Math.min(column - (columns >> 1), it.columns - columns));
    detail.dataset.part = [row0, column0, rows, columns].join(" ");
    frame.setAttribute("x", +frame.getAttribute("width") * column0 / columns + (+panel.transform.baseVal[0].matrix.e));
    frame.setAttribute("y", +frame.getAttribute("height") * row0 / rows + (+panel.transform.baseVal[0].matrix.f));
    for (const marks of picture.querySelectorAll(`.lc-marks[data-side="${it.side}"]`)) marks.style.display = "none";
    const asked = new Set();
    for (const path of panel.querySelectorAll("[data-asked]"))
      for (const [owner, at, units] of decode(path.dataset.asked))
        for (let u = 0; u < units; u += it.cell) asked.add(it.own ? `${owner} ${at + u}` : at + u);
    const out = [];
    for (let c = 0; c < columns; c += columns > 8 ? 2 : 1)
      out.push(drawn("text", { x: (c + .5) * WIDE, y: -4, class: "lc-x lc-t lc-m lc-u" }, it.first + (column0 + c) * it.cell));
    for (let r = 0; r < rows; r++) {
      const start = it.starts[row0 + r];
      const label = it.kind === "tile" ? start / it.pitch : it.own ? `T${start}` : sign(start);
      out.push(drawn("text", { x: -5, y: r * HIGH + 9, class: "lc-x lc-s lc-e lc-u" }, label));
      for (let c = 0; c < columns; c++) {
        const offset = offsetOf(it, row0 + r, column0 + c);
        const by = writersAt(it, row0 + r, offset);
        const named = asked.has(it.own ? `${start} ${offset}` : offset);
        const last = by[by.length - 1];
        const values = by.map(run => [run, Math.floor((offset - run.at + run.skip) / it.cell)]);
        out.push(drawn("rect", {
          x: c * WIDE, y: r * HIGH, width: WIDE - 1, height: HIGH - 1,
          class: last ? `lc-fill lc-c${last.thread % 8} lc-o${(last.thread >> 3) % 4}` : "lc-cell",
          "data-offset": offset, "data-owner": it.own ? start : 0, "data-asked": +named,
          "data-by": values.map(([run, v]) => `${run.thread}:${run.k}.${v}`).join(" "),
        }));
        const x = c * WIDE + (WIDE - 1) / 2;
        if (last) {
          const v = values[values.length - 1][1];
          out.push(drawn("text", { x, y: r * HIGH + 10, class: "lc-x lc-s lc-m" }, `T${last.thread}`));
          out.push(drawn("text", { x, y: r * HIGH + 19, class: `lc-x lc-t lc-m${by.length > 1 ? " lc-b" : ""}` },
            by.length > 1 ? `+${by.length - 1}` : it.kind === "moved" ? `${last.k}.${v}` : `v${last.k + v}`));
        } else if (named) out.push(drawn("text", { x, y: r * HIGH + HIGH / 2 + 3, class: "lc-x lc-s lc-m lc-b" }, "\u2205"));
      }
    }
    detail.replaceChildren(...out);
  };

  const cellAt = (panel, event) => {
    const it = model(panel);
    const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(panel.getScreenCTM().inverse());
    const row = Math.floor(p.y / it.high), column = Math.floor(p.x / it.scale);
    return row >= 0 && row < it.starts.length && column >= 0 && column < it.columns ? [row, column] : null;
  };
  const cursor = (panel, row, column) => {
    const it = model(panel);
    for (const old of document.querySelectorAll(".lc-cursor")) old.remove();
    panel.append(drawn("rect", { x: column * it.scale, y: row * it.high, width: Math.max(it.scale, 4),
      height: Math.max(it.high, 4), class: "lc-cursor" }));
  };

  // Connects the pictures and buttons of a part of the page: of all of it, and of what run_page.js puts in later.
  const done = new WeakSet();
  const fresh = (root, selector) => [...root.querySelectorAll(selector)].filter(node => !done.has(node) && done.add(node));
  const connect = root => {
  for (const panel of fresh(root, ".lc-panel")) {
    if (!panel.querySelector("[data-runs]")) continue;
    let at = [0, 0];
    const look = () => { cursor(panel, ...at); showByte(panel, at[0], offsetOf(model(panel), ...at)); };
    panel.addEventListener("pointermove", event => {
      const cell = cellAt(panel, event);
      if (cell && !kept) { at = cell; look(); }
    });
    panel.addEventListener("click", event => {
      const cell = cellAt(panel, event);
      if (cell) { at = cell; kept = true; look(); enlarge(panel, ...cell); }
    });
    panel.addEventListener("focus", () => { if (!kept) look(); });
    panel.addEventListener("keydown", event => {
      const it = model(panel);
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (step) at = [Math.max(0, Math.min(it.starts.length - 1, at[0] + step[0])), Math.max(0, Math.min(it.columns - 1, at[1] + step[1]))];
      else if (event.key === "Home") at = [0, 0];
      else if (event.key === "Enter" || event.key === " ") { kept = true; enlarge(panel, ...at); }
      else return;
      event.preventDefault();
      look();
    });
  }
  // The enlarged cells answer as the whole does.
  for (const detail of fresh(root, ".lc-detail")) {
    const find = event => {
      const cell = event.target.closest("[data-offset]");
      if (!cell) return;
      const panel = sibling(detail, detail.dataset.side);
      if (panel && panel.querySelector("[data-runs]")) {
        const it = model(panel);
        const row = it.rowOf.get(it.own ? +cell.dataset.owner : Math.floor(+cell.dataset.offset / it.pitch) * it.pitch);
        showByte(panel, row, +cell.dataset.offset);
        return;
      }
      dark();
      const threads = new Set((cell.dataset.by || "").split(" ").filter(Boolean).map(word => word.split(":")[0]));
      const same = [...detail.ownerSVGElement.querySelectorAll(".lc-detail [data-by]")].filter(other =>
        (other.dataset.by || "").split(" ").some(word => word && threads.has(word.split(":")[0])));
      light(same, "lc-same");
      const side = names[detail.dataset.side];
      const left = make("div", { "data-side": detail.dataset.side, "data-offset": cell.dataset.offset, "data-kind": detail.dataset.kind },
        make("h3", {}, +cell.dataset.owner || detail.querySelector("[data-owner]:not([data-owner='0'])") ?
          `register byte ${cell.dataset.offset} of thread ${cell.dataset.owner}` : `byte ${sign(+cell.dataset.offset)} of the ${side}`));
      for (const word of (cell.dataset.by || "").split(" ").filter(Boolean)) {
        const [, thread, k, value] = /^(\d+):(\d+)\.(\d+)$/.exec(word);
        left.append(make("div", { "data-by": `${thread}:${k}` }, detail.dataset.kind === "moved" ?
          `thread ${thread}, instruction ${k}, value ${value}` : `thread ${thread}, value ${+k + +value}`));
      }
      if (!cell.dataset.by) left.append(make("div", {}, "nobody"));
      inspector.replaceChildren(make("div", { class: "cols" }, left));
      inspector.classList.toggle("kept", Boolean(kept));
      inspector.hidden = false;
    };
    detail.addEventListener("pointerover", event => { if (!kept) find(event); });
    detail.addEventListener("click", event => { kept = true; find(event); });
  }
  // A lane's words in all bank maps; a value of the byte strip in all its rows.
  const pictures = fresh(root, ".lc-picture");
  const together = (selector, key) => {
    for (const picture of pictures)
      picture.addEventListener("pointerover", event => {
        const cell = event.target.closest(selector);
        if (!cell || kept) return;
        dark();
        light([...picture.querySelectorAll(selector)].filter(other => other.dataset[key] === cell.dataset[key]), "lc-same");
      });
  };
  together("[data-lane]", "lane");
  together("[data-kind][data-value]", "value");

  for (const button of fresh(root, ".copy-code"))
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch {
        getSelection().selectAllChildren(code);
        document.execCommand("copy");
        getSelection().removeAllRanges();
      }
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  };
  connect(document);
  document.addEventListener("lc-added", event => connect(event.target));

  document.addEventListener("keydown", event => { if (event.key === "Escape") release(); });
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });
  addEventListener("beforeprint", () => { for (const box of document.querySelectorAll("details")) box.open = true; });
})();
