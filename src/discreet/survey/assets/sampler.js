/**
 * Exact randomised response in a browser, straight from the integers of a manifest.
 *
 * A mechanism is the plain data of the "mechanism" of a block in a manifest: integer weights, written as text. Under truth
 * x the report y has probability weight[x][y] / denominator, exactly: one uniform integer below the denominator is drawn
 * by rejection, and the report is where it falls among the cumulative weights. No floating-point number takes part.
 * `discreet.survey.sampling` in Python reads the same bytes into the same report.
 *
 *     import { coin, denominator, report } from "./sampler.js";
 *     const toss = coin(denominator(mechanism));       // before the answer is known: nobody can try again
 *     const code = report(mechanism, truth, toss);     // truth and report are codes 0, 1, 2, …
 *
 * Keep the coin in memory only: coin and report together give the truth away.
 */

/** Bytes from the cryptographic generator of the browser. */
export const secureBytes = (count) => crypto.getRandomValues(new Uint8Array(count));

/**
 * A uniform integer from 0n to size − 1n. As many bits as size − 1n has are read, most significant byte first, spare high
 * bits of the first byte are cleared, and the number is drawn again while it is too large. What is read depends on size
 * alone, never on an answer.
 */
export function coin(size, bytes = secureBytes) {
  if (size < 1n) throw new RangeError("a coin needs at least one side");
  if (size === 1n) return 0n;
  const bits = (size - 1n).toString(2).length;
  const count = Math.ceil(bits / 8);
  for (;;) {
    const drawn = bytes(count);
    let number = BigInt(drawn[0] & (0xff >> (8 * count - bits)));
    for (let i = 1; i < count; i += 1) number = (number << 8n) | BigInt(drawn[i]);
    if (number < size) return number;
  }
}

/** The sum of every row of weights. */
export function denominator(mechanism) {
  return row(mechanism, 0).reduce((sum, [count, weight]) => sum + BigInt(count) * weight, 0n);
}

/** The report under a truth, for a coin below the denominator. */
export function report(mechanism, truth, toss) {
  let code = 0;
  let left = toss;
  for (const [count, weight] of row(mechanism, truth)) {
    const mass = BigInt(count) * weight;
    if (left < mass) return code + Number(left / weight);
    left -= mass;
    code += count;
  }
  throw new RangeError("the coin is not below the denominator");
}

/** The weights under one truth, as runs [how many reports in a row, weight of each]. */
export function row(mechanism, truth) {
  const kind = ROWS[mechanism.kind] || (mechanism.rows && written);
  if (!kind) throw new RangeError(`a ${mechanism.kind} mechanism cannot be drawn here`);
  return kind(mechanism, truth);
}

const written = ({ rows }, truth) => rows[truth].map((weight) => [1, BigInt(weight)]);

/** Some codes, in order, have one weight and all others another. */
function marked(codes, size, high, low) {
  const runs = [];
  let next = 0;
  for (const code of codes) {
    runs.push([code - next, BigInt(low)], [1, BigInt(high)]);
    next = code + 1;
  }
  runs.push([size - next, BigInt(low)]);
  return runs;
}

/** "0-4 7" is 0, 1, 2, 3, 4, 7. */
function listed(text) {
  return text.split(" ").flatMap((run) => {
    const [first, last = first] = run.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}

const ROWS = {
  generalized: ({ size, keep, other }, truth) => marked([truth], size, keep, other),
  bipartite({ size, m, high, low, neighbours }, truth) {
    if (neighbours) return marked(listed(neighbours[truth]), size, high, low);
    const first = Math.min(Math.max(truth - Math.floor(m / 2), 0), size - m);
    return [[first, BigInt(low)], [m, BigInt(high)], [size - first - m, BigInt(low)]];
  },
  // The likely reports are a difference set, shifted by the truth.
  cyclic({ order, high, low, elements }, truth) {
    return marked(elements.map((one) => (one + truth) % order).sort((a, b) => a - b), order, high, low);
  },
  // Several answers as one code, the first answer running slowest; a weight for each pattern of answers that agree.
  cells({ sizes, patterns }, truth) {
    const total = sizes.reduce((product, size) => product * size, 1);
    return Array.from({ length: total }, (_, cell) => {
      let pattern = 0;
      let [left, right] = [truth, cell];
      for (let i = sizes.length - 1; i >= 0; i -= 1) {
        if (left % sizes[i] === right % sizes[i]) pattern |= 1 << (sizes.length - 1 - i);
        [left, right] = [Math.floor(left / sizes[i]), Math.floor(right / sizes[i])];
      }
      return [1, BigInt(patterns[pattern])];
    });
  },
};
