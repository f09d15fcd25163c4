// Sample sets, as csv files: generated, the same in every browser.
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
const bell = (next) => next() + next() + next() + next() - 2;

const makers = {
  /** Colours and their shades, which cosine cannot tell apart. */
  colours(next) {
    const lines = ['red,green,blue'];
    for (let i = 0; i < 4000; i++) {
      const hue = [next(), next(), next()], light = 0.15 + 0.85 * next(), most = Math.max(...hue);
      lines.push(hue.map((value) => (255 * light * (value / most)).toFixed(1)).join(','));
    }
    return lines;
  },
  /** Clusters of very different norms in 16 columns. */
  clusters(next) {
    const lines = [], centres = Array.from({ length: 12 }, (_, c) => Array.from({ length: 16 }, () => 6 * bell(next) * (1 + c / 3)));
    for (let i = 0; i < 3000; i++) lines.push(centres[i % 12].map((value) => (value + 2 * bell(next)).toFixed(4)).join(','));
    return lines;
  },
  /** Measurements in different units, with a few odd rows. */
  people(next) {
    const lines = [',height,weight,pulse,age'];
    for (let i = 0; i < 600; i++) {
      const height = 1.7 + 0.07 * bell(next), odd = i % 97 === 50, weight = 22.5 * height * height * (1 + 0.12 * bell(next));
      lines.push([`p${i}`, height.toFixed(3), (odd ? weight * 1.9 : weight).toFixed(1), (68 + 7 * bell(next) + (i % 131 === 7 ? 60 : 0)).toFixed(0), (44 + 14 * bell(next)).toFixed(0)].join(','));
    }
    return lines;
  },
};

/** [bytes, name] of a sample set. */
export function sampleFile(name) {
  const lines = makers[name](random(name.length));
  return [new TextEncoder().encode(`${lines.join('\n')}\n`), `${name}.csv`];
}
