// Goes to the end of a page and says in <pre id="seen"> what the browser made of it.
const faults = [];
const text = (element) => element.textContent.trim().slice(0, 40);
const rect = (element) => element.getBoundingClientRect();
const outside = (a, b) => a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;

// Luminance of an opaque colour, as WCAG 2 has it, and the contrast of two.
const luminance = (colour) => {
  const [r, g, b] = colour.match(/[\d.]+/g).map((part) => part / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
};
const background = (element) => {
  const own = getComputedStyle(element).backgroundColor;
  return own === "rgba(0, 0, 0, 0)" ? background(element.parentElement) : own;
};

const page = document.documentElement;
if (page.scrollWidth > page.clientWidth) faults.push(`wider than the window by ${page.scrollWidth - page.clientWidth}`);
for (const section of document.querySelectorAll("section")) {
  // Where there is room, nobody shall have to scroll for a part.
  if (innerWidth > 1000 && section.scrollWidth > section.clientWidth) faults.push(`scrolls: ${text(section)}`);
  if (rect(section).height < 40) faults.push(`empty: ${text(section)}`);
}
for (const svg of document.querySelectorAll("svg")) {
  const [all, frame] = [[...svg.querySelectorAll("text")], rect(svg)];
  if (frame.width < 300 || frame.height < 20) faults.push(`a plot of ${frame.width} x ${frame.height}`);
  for (const mark of svg.querySelectorAll("text, line, polyline, rect, circle"))
    if (outside(rect(mark), frame)) faults.push(`cut off: ${mark.tagName} ${text(mark)}`);
  all.forEach((a, k) => all.slice(k + 1).forEach((b) => {
    if (overlap(rect(a), rect(b))) faults.push(`one over the other: ${text(a)} and ${text(b)}`);
  }));
  for (const mark of svg.querySelectorAll(".line, .fill")) {
    const style = getComputedStyle(mark);
    const ratio = contrast(mark.matches(".line") ? style.stroke : style.fill, background(svg));
    if (ratio < 2.5) faults.push(`pale: ${mark.getAttribute("class")} ${ratio.toFixed(1)}`);
  }
}
for (const element of document.querySelectorAll("body *")) {
  const says = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  if (!says || element.matches("script, title")) continue;
  const style = getComputedStyle(element);
  const ratio = contrast(element.closest("svg") ? style.fill : style.color, background(element));
  if (ratio < 4.5) faults.push(`hard to read: ${text(element)} ${ratio.toFixed(1)}`);
}
for (const resource of performance.getEntriesByType("resource")) faults.push(`loaded ${resource.name}`);

const seen = document.body.appendChild(document.createElement("pre"));
seen.id = "seen";
seen.textContent = JSON.stringify({
  dark: matchMedia("(prefers-color-scheme: dark)").matches,
  width: innerWidth,
  headings: [...document.querySelectorAll("h2")].map(text),
  plots: document.querySelectorAll("svg").length,
  faults,
});
