// Theme, menu and search. Without scripts the pages are complete; the words of all pages are loaded when the search is first used, by a
// script element, which works for files too, where fetch() does not.
(() => {
  const script = document.currentScript, root = script.dataset.root;
  const html = document.documentElement;
  html.classList.add('js');
  const kept = (value) => {
    try {
      if (value !== undefined) localStorage.setItem('capball-theme', value);
      return localStorage.getItem('capball-theme');
    } catch { return null; } // some browsers keep nothing for files
  };
  if (kept()) html.dataset.theme = kept();

  const isDark = () => (html.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';

  function themes(button) {
    const label = () => { button.textContent = isDark() ? 'Light' : 'Dark'; };
    button.hidden = false;
    button.addEventListener('click', () => {
      html.dataset.theme = isDark() ? 'light' : 'dark';
      kept(html.dataset.theme);
      label();
    });
    label();
  }

  function menus(button, menu) {
    button.hidden = false;
    button.addEventListener('click', () => {
      const isOpen = menu.classList.toggle('open');
      button.setAttribute('aria-expanded', String(isOpen));
      if (isOpen) scrollTo(0, 0); // the menu is above the text
    });
    menu.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
    scrollTo(0, location.hash ? scrollY : 0);
  }

  // JSON, packed by gzip, in base64.
  const unpacked = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
  };

  let loading;
  const pages = () => loading ??= new Promise((done, failed) => {
    const words = document.createElement('script');
    words.src = root + 'assets/search.js';
    words.onload = () => unpacked(window.capballIndex).then(([all, sections]) => {
      done(sections.map(([page, anchor, heading, text]) => {
        const [address, title] = all[page];
        return [anchor ? `${address}#${anchor}` : address, title, heading, text, `${title} ${heading}`.toLowerCase(), text.toLowerCase()];
      }));
    }).catch(failed);
    words.onerror = failed;
    document.head.append(words);
  });

  const literal = (word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

  // Every word must occur; names and headings count more than text, whole words more than parts, and what is named just so the most.
  function score(entry, words) {
    const name = (entry[2] || entry[1]).toLowerCase();
    let sum = name === words.join(' ') ? 100 : 0;
    for (const word of words) {
      const head = entry[4], text = entry[5];
      const whole = new RegExp('(^|[^\\p{L}\\d_])' + literal(word) + '($|[^\\p{L}\\d_])', 'u');
      if (head.includes(word)) sum += whole.test(head) ? 40 - Math.min(20, head.length / 8) : 12;
      else if (text.includes(word)) sum += whole.test(text) ? 3 : 1;
      else return 0;
    }
    return sum;
  }

  function marked(text, words) {
    const part = document.createDocumentFragment(), lower = text.toLowerCase();
    const first = Math.max(0, Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0), text.length) - 60);
    const shown = (first ? '… ' : '') + text.slice(first, first + 180) + (text.length > first + 180 ? ' …' : '');
    const pattern = new RegExp('(' + words.map(literal).join('|') + ')', 'giu');
    shown.split(pattern).forEach((piece, i) => {
      if (i % 2 === 0) return part.append(piece);
      const mark = document.createElement('mark');
      mark.textContent = piece;
      part.append(mark);
    });
    return part;
  }

  async function search(input, found) {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.hidden = words.length === 0;
    if (words.length === 0) return;
    let entries;
    try { entries = await pages(); } catch {
      found.textContent = 'The index of the search could not be loaded.';
      return;
    }
    const best = entries.map((entry) => [score(entry, words), entry]).filter(([value]) => value > 0).sort((a, b) => b[0] - a[0]);
    found.replaceChildren(...best.slice(0, 20).map(([, entry]) => {
      const link = document.createElement('a'), where = document.createElement('small'), title = document.createElement('b');
      link.href = root + entry[0];
      title.textContent = entry[2] || entry[1];
      where.textContent = entry[2] ? entry[1] : '';
      link.append(title, where, marked(entry[3], words));
      return link;
    }));
    if (best.length === 0) {
      const none = document.createElement('p');
      none.textContent = 'No page has all of these words.';
      found.replaceChildren(none);
    }
  }

  function searches(form, input, found) {
    form.hidden = false;
    let latest = 0;
    const update = () => { const own = ++latest; setTimeout(() => own === latest && search(input, found), 60); };
    input.addEventListener('focus', () => pages().catch(() => {}), { once: true });
    input.addEventListener('input', update);
    form.addEventListener('submit', (event) => { event.preventDefault(); found.querySelector('a')?.click(); });
    form.addEventListener('keydown', (event) => {
      const links = [input, ...found.querySelectorAll('a')], at = links.indexOf(document.activeElement);
      if (event.key === 'Escape') { found.hidden = true; input.focus(); }
      if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault();
        links[Math.max(0, Math.min(links.length - 1, at + (event.key === 'ArrowDown' ? 1 : -1)))].focus();
      }
    });
    document.addEventListener('click', (event) => { if (!form.contains(event.target) || event.target.closest('#found a')) found.hidden = true; });
    document.addEventListener('keydown', (event) => {
      if (event.key === '/' && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); input.focus(); }
    });
  }

  document.addEventListener('DOMContentLoaded', () => {
    const by = (id) => document.getElementById(id);
    themes(by('theme-button'));
    menus(by('menu-button'), by('menu'));
    searches(by('search'), by('words'), by('found'));
    if (innerWidth < 1200) document.querySelector('.contents details')?.removeAttribute('open');
  });
})();
