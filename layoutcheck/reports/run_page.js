(() => {
  const cards = [...document.querySelectorAll(".card")];
  const told = new Map(cards.map(card => {
    const file = card.closest(".file").querySelector("h2").textContent;
    const words = `${card.dataset.text} ${card.querySelector("summary").textContent} ${card.dataset.kernels} ${file}`;
    return [card, [words.toLowerCase(), card.dataset.kernels.split("\n")]];
  }));
  const search = document.getElementById("search");
  const kernel = document.getElementById("kernel");
  const buttons = [...document.querySelectorAll(".filter")];
  const nothing = document.getElementById("nothing");
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const off = new Set(buttons.filter(b => b.getAttribute("aria-pressed") === "false").map(b => b.dataset.filter));
    let left = 0;
    for (const card of cards) {
      const [text, kernels] = told.get(card);
      const kept = words.every(word => text.includes(word)) && !off.has(card.dataset.verdict) &&
        (!kernel || !kernel.value || kernels.includes(kernel.value));
      card.hidden = !kept;
      left += kept;
    }
    for (const file of document.querySelectorAll(".file")) {
      file.hidden = !file.querySelector(".card:not([hidden])");
      for (const mark of file.querySelectorAll("a.mark")) {
        const card = document.getElementById(mark.hash.slice(1));
        mark.classList.toggle("off", !card || card.hidden);
      }
    }
    nothing.hidden = left > 0 || !cards.length;
  };
  search.addEventListener("input", apply);
  if (kernel) kernel.addEventListener("change", apply);
  for (const button of buttons)
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") === "false"));
      apply();
    });
  // What cards share stands once on the page: a card that is opened gets its own copy. Packed pictures are drawn.
  const unpacked = async text => {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const draw = async packed => {
    packed.className = "drawing"; // once, whoever else asks
    packed.innerHTML = await unpacked(packed.dataset.packed);
    packed.removeAttribute("data-packed");
  };
  const fill = async card => {
    const part = card.querySelector(".part[data-part], .packed");
    if (!part) {
      card.dispatchEvent(new CustomEvent("lc-added", { bubbles: true }));
      return;
    }
    if (part.dataset.packed) await draw(part);
    else {
      const copy = document.getElementById(part.dataset.part).cloneNode(true);
      for (const inner of copy.querySelectorAll("[id]")) inner.removeAttribute("id");
      part.removeAttribute("data-part");
      part.replaceChildren(...copy.childNodes);
    }
    await fill(card);
  };
  let filled = Promise.resolve(); // one card after the other: none copies a picture that is being drawn
  const fillNext = card => { filled = filled.then(() => fill(card)).catch(console.error); };
  for (const card of cards) {
    if (!card.querySelector(".part[data-part], .packed")) continue;
    if (card.open) fillNext(card);
    else card.addEventListener("toggle", () => fillNext(card), { once: true });
  }
  const open = () => {
    const card = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (card && card.classList.contains("card")) { card.open = true; card.scrollIntoView({ block: "start" }); }
  };
  addEventListener("hashchange", open);
  for (const mark of document.querySelectorAll("a.mark")) mark.addEventListener("click", () => setTimeout(open));
  open();
  addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
  });
})();
