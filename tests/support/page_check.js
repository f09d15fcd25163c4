/* Runs inside a page that is looked at: what is wrong with it goes to the window around it, by postMessage. */
(function () {
  const faults = [];
  const fault = (text) => faults.push(text);
  window.addEventListener("error", (event) => fault("error: " + event.message));

  function luminance(colour) {
    return colour.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  }
  function parse(text) {
    const numbers = (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
    return numbers.length === 3 ? [...numbers, 1] : numbers;
  }
  function over(top, below) {
    return [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  }
  function background(element) {
    if (element === null) return parse(getComputedStyle(document.documentElement).colorScheme.startsWith("dark") ? "rgb(18,18,18)" : "rgb(255,255,255)");
    const own = parse(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, background(element.parentElement));
  }
  function contrast(a, b) {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  }
  function ownText(element) {
    return [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join("").trim();
  }

  function checkContrast() {
    for (const element of document.querySelectorAll("body *")) {
      const text = ownText(element), inPicture = element.closest("svg");
      if (!text || element.closest("style,script,title,desc") || (inPicture && !inPicture.classList.contains("pic"))) continue;
      const style = getComputedStyle(element), size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const ratio = contrast(parse(inPicture ? style.fill : style.color), background(inPicture || element));
      if (ratio < (large ? 3 : 4.5)) fault(`contrast ${ratio.toFixed(2)} of "${text.slice(0, 30)}"`);
    }
  }
  function checkNames() {
    if (!document.documentElement.lang) fault("no language");
    if (!document.title) fault("no title");
    if (document.querySelectorAll("h1").length !== 1) fault("not one h1");
    if (document.querySelectorAll("main").length !== 1) fault("not one main");
    for (const svg of document.querySelectorAll("svg.pic")) {
      const title = svg.querySelector("title");
      if (svg.getAttribute("role") !== "img") fault("a picture without a role");
      if (!svg.getAttribute("aria-label") && !(title && title.textContent.trim())) fault("a picture without a name");
    }
    for (const cell of document.querySelectorAll("th")) if (!cell.scope) fault(`a heading without a scope: ${cell.textContent}`);
    for (const table of document.querySelectorAll("table"))
      if (!table.querySelector("thead th")) fault("a table without headings");
    for (const wide of document.querySelectorAll(".wide")) if (wide.tabIndex !== 0) fault("a wide table that keys cannot scroll");
  }
  function checkNumbers() {
    for (const cell of document.querySelectorAll("tbody td")) {
      const number = /^-?[\d.,]+(e[-+]?\d+)?(\s*%)?$/.test(cell.textContent.trim());
      if (number && getComputedStyle(cell).textAlign !== "right") fault(`"${cell.textContent}" is not right-aligned`);
    }
  }
  /* Labels lie in their picture, and pictures with axes name both. */
  function checkPictures() {
    for (const svg of document.querySelectorAll("svg.pic")) {
      const box = svg.getBoundingClientRect();
      for (const text of svg.querySelectorAll("text")) {
        const t = text.getBoundingClientRect();
        if (t.left < box.left - 1 || t.right > box.right + 1 || t.top < box.top - 1 || t.bottom > box.bottom + 1)
          fault(`"${text.textContent}" leaves its picture`);
      }
    }
  }
  function checkWidth() {
    const wide = document.documentElement.scrollWidth;
    if (wide > window.innerWidth) fault(`${wide} pixels wide in a window of ${window.innerWidth}`);
    if (document.body.dataset.page === "paper") return; /* its tables have many columns, and scroll by themselves */
    for (const box of document.querySelectorAll(".wide,.plot,pre"))
      if (box.scrollWidth > box.clientWidth + 1) fault(`"${box.textContent.trim().slice(0, 20)}" scrolls sideways: ${box.scrollWidth} in ${box.clientWidth}`);
  }
  window.addEventListener("load", () => {
    try {
      checkNames();
      checkNumbers();
      checkContrast();
      checkPictures();
      checkWidth();
    } catch (error) {
      fault("the check failed: " + error.message);
    }
    parent.postMessage({ page: document.body.dataset.page, faults, dark: matchMedia("(prefers-color-scheme: dark)").matches }, "*");
  });
})();
