// Draws the pictures of a page, hides transports that its reader does not want, and sorts tables.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const narrow = window.matchMedia("(max-width: 40rem)");
const views = new Map();
const hidden = new Set();

// Pictures.

function narrowed(config) {
  // Beside a picture there is no room on a phone.
  const legend = { ...config.legend, orient: "bottom", direction: "vertical", columns: 1 };
  return { ...config, legend };
}

async function draw(element, spec) {
  const configs = JSON.parse(document.getElementById("configs").textContent);
  const config = configs[dark.matches ? "dark" : "light"];
  const before = views.get(element);
  const made = await window.vegaEmbed(element, structuredClone(spec), {
    actions: false,
    ast: true,
    logLevel: 1, // Errors alone.
    config: narrow.matches ? narrowed(config) : config,
    renderer: "svg",
    tooltip: { theme: dark.matches ? "dark" : "light" },
  });
  before?.finalize();
  views.set(element, made);
  await hide(made.view);
}

async function hide(view) {
  try {
    view.signal("hidden", [...hidden]);
  } catch {
    return; // A picture in which nothing can be hidden.
  }
  await view.runAsync();
}

function pictures() {
  const found = [];
  for (const script of document.querySelectorAll("script[data-for]")) {
    // The element around it has the words for who cannot see what is drawn within.
    const element = document.getElementById(script.dataset.for).firstElementChild;
    found.push([element, JSON.parse(script.textContent)]);
  }
  return found;
}

async function drawAll() {
  document.body.dataset.drawn = "no";
  document.body.dataset.theme = dark.matches ? "dark" : "light";
  for (const [element, spec] of pictures()) {
    try {
      await draw(element, spec);
    } catch (error) {
      element.textContent = "This picture could not be drawn; it is in words below.";
      console.error(error);
    }
  }
  document.body.dataset.drawn = "yes";
}

let drawing = Promise.resolve();

function drawAgain() {
  drawing = drawing.then(drawAll);
}

// Which transports are shown.

function choose() {
  const choice = document.getElementById("choice");
  if (choice === null) return;
  choice.hidden = false;
  choice.addEventListener("change", (event) => {
    const box = event.target;
    if (box.checked) hidden.delete(box.value);
    else hidden.add(box.value);
    for (const { view } of views.values()) hide(view);
  });
}

// Tables.

const PREFIXES = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

function figure(text) {
  // The first figure of a cell, such as "± 1.2 %", "64K" or "1,024 x8".
  const found = /(-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)([KMG](?![a-zA-Z]))?/.exec(text);
  if (found === null) return null;
  return Number(found[1].replaceAll(",", "")) * (PREFIXES[found[2]] ?? 1);
}

function compared(one, other, isText, sign) {
  if (isText) return sign * one.localeCompare(other, "en", { numeric: true });
  const [first, second] = [figure(one), figure(other)];
  // What is not known comes last either way.
  if (first === null || second === null) return (first === null) - (second === null);
  return sign * (first - second);
}

function sort(table, head, number) {
  const order = head.ariaSort === "ascending" ? "descending" : "ascending";
  for (const each of table.tHead.rows[0].cells) each.ariaSort = "none";
  head.ariaSort = order;
  const [body] = table.tBodies;
  const isText = head.classList.contains("text");
  const sign = order === "ascending" ? 1 : -1;
  const cell = (row) => row.cells[number].textContent;
  const rows = [...body.rows].sort((a, b) => compared(cell(a), cell(b), isText, sign));
  for (const row of rows) row.classList.remove("begins");
  body.append(...rows);
}

function makeSortable(table) {
  if (table.tBodies[0].rows.length < 2) return;
  [...table.tHead.rows[0].cells].forEach((head, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.ariaSort = "none";
    button.addEventListener("click", () => sort(table, head, number));
  });
}

choose();
document.querySelectorAll("table").forEach(makeSortable);
if (window.vegaEmbed !== undefined) {
  drawAgain();
  dark.addEventListener("change", drawAgain);
  narrow.addEventListener("change", drawAgain);
} else {
  document.body.dataset.drawn = "yes";
}
