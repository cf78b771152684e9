// Hyperbolic geometry. A point z of the Poincaré disk is a pair [x, y].
//
// The view is an isometry z -> (a z + b) / (conj(b) z + conj(a)) with |a|² - |b|² = 1, kept as [ar, ai, br, bi]. These
// four numbers stay sound over any number of compositions because normalised() puts them back onto |a|² - |b|² = 1:
// rounding can then only move the view by as much as one operation's rounding, and never off the isometries.

const IDENTITY = [1, 0, 0, 0];

function normalised([ar, ai, br, bi]) {
  const size = Math.sqrt(ar * ar + ai * ai - br * br - bi * bi);
  return [ar / size, ai / size, br / size, bi / size];
}

// The isometry that does `first`, then `then`.
function composed(then, first) {
  const [ar, ai, br, bi] = then, [cr, ci, dr, di] = first;
  return normalised([
    ar * cr - ai * ci + br * dr + bi * di,
    ar * ci + ai * cr - br * di + bi * dr,
    ar * dr - ai * di + br * cr + bi * ci,
    ar * di + ai * dr - br * ci + bi * cr,
  ]);
}

function inverse([ar, ai, br, bi]) {
  return [ar, -ai, -br, -bi];
}

function moved([ar, ai, br, bi], [x, y]) {
  const ur = ar * x - ai * y + br, ui = ar * y + ai * x + bi;
  const vr = br * x + bi * y + ar, vi = br * y - bi * x - ai;
  const size = vr * vr + vi * vi;
  return [(ur * vr + ui * vi) / size, (ui * vr - ur * vi) / size];
}

// The translation along the diameter that takes 0 to z.
function fromCentre([x, y]) {
  const scale = 1 / Math.sqrt(1 - x * x - y * y);
  return [scale, 0, x * scale, y * scale];
}

// The translation along the geodesic through p and q that takes p to q: no turning on the way.
function translation(p, q) {
  const back = fromCentre([-p[0], -p[1]]);
  return composed(fromCentre(p), composed(fromCentre(moved(back, q)), back));
}

// The translation by `length` that moves the centre in the direction (x, y), a unit vector.
function step(x, y, length) {
  const along = Math.sinh(length / 2);
  return [Math.cosh(length / 2), 0, x * along, y * along];
}

// How far the view has taken the centre.
function farness([, , br, bi]) {
  return 2 * Math.asinh(Math.hypot(br, bi));
}

// The same isometry on points (x, y, time) of the hyperboloid, as the two rows for x and y. The time follows from
// them; so nodes far outside, where disk coordinates have run out of digits, are still where they belong.
function hyperboloidRows([ar, ai, br, bi]) {
  const aar = ar * ar - ai * ai, aai = 2 * ar * ai, bbr = br * br - bi * bi, bbi = 2 * br * bi;
  return [
    aar + bbr, bbi - aai, 2 * (ar * br - ai * bi),
    aai + bbi, aar - bbr, 2 * (ar * bi + ai * br),
  ];
}

// Distance of two points of the hyperboloid, given by x and y; keeps small distances (see hyperboloid.distance).
function distance(px, py, qx, qy) {
  const dx = px - qx, dy = py - qy;
  const rise = (dx * (px + qx) + dy * (py + qy)) / (Math.sqrt(1 + px * px + py * py) + Math.sqrt(1 + qx * qx + qy * qy));
  const z = Math.max(0.5 * (dx * dx + dy * dy - rise * rise), 0);
  return Math.log1p(z + Math.sqrt(z * (z + 2)));
}

// The Euclidean centre and size of the hyperbolic circle of radius `radius` around z.
function circle([x, y], radius) {
  const r = Math.tanh(radius / 2), square = x * x + y * y, under = 1 - r * r * square;
  return { x: x * (1 - r * r) / under, y: y * (1 - r * r) / under, size: r * (1 - square) / under };
}

// The geodesic from p to q as a rational quadratic Bézier curve, which is exactly a circle's arc: writes the middle
// control point and its weight to out[at .. at + 2]. Nothing is divided by the determinant, which is 0 on a diameter.
function geodesic(px, py, qx, qy, out, at) {
  const det = px * qy - py * qx;
  const p = 0.5 * (1 + px * px + py * py), q = 0.5 * (1 + qx * qx + qy * qy);
  const cx = p * qy - q * py, cy = q * px - p * qx; // the circle's centre, times det
  const mx = 0.5 * (px + qx), my = 0.5 * (py + qy);
  const dx = mx * det - cx, dy = my * det - cy; // from the centre to the middle of the chord, times det
  const square = dx * dx + dy * dy;
  const chord = 0.25 * ((px - qx) * (px - qx) + (py - qy) * (py - qy));
  const bend = square > 1e-300 ? chord * det / square : 0;
  out[at] = mx + bend * dx;
  out[at + 1] = my + bend * dy;
  out[at + 2] = square > 1e-300 ? Math.sqrt(square / (square + det * det * chord)) : 1;
}
