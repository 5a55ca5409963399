// Frames of a kinematic tree: 4 x 4 matrices, row by row, as the server tells them.

/** @typedef {{ name: string, type: string, parent: string, child: string, pose: number[], axis: number[] }} Joint */

export const IDENTITY = Object.freeze([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);

/** @param {readonly number[]} a @param {readonly number[]} b @returns {number[]} */
export function times(a, b) {
  const product = Array.from({ length: 16 }, () => 0);
  for (let row = 0; row < 4; row++)
    for (let column = 0; column < 4; column++)
      for (let k = 0; k < 4; k++) product[4 * row + column] += a[4 * row + k] * b[4 * k + column];
  return product;
}

/**
 * R = 1 + sin(angle) [k]x + (1 - cos(angle)) [k]x^2, of a unit vector k.
 * @param {number[]} axis
 * @param {number} angle
 */
export function rotationAbout([x, y, z], angle) {
  const s = Math.sin(angle);
  const c = Math.cos(angle);
  const d = 1 - c;
  return [
    c + x * x * d, x * y * d - z * s, x * z * d + y * s, 0,
    x * y * d + z * s, c + y * y * d, y * z * d - x * s, 0,
    x * z * d - y * s, y * z * d + x * s, c + z * z * d, 0,
    0, 0, 0, 1,
  ];
}

/** Frame of a joint's child in its parent's, the joint at q. @param {Joint} joint @param {number} q */
export function jointFrame(joint, q) {
  if (joint.type === "fixed") return joint.pose;
  if (joint.type !== "prismatic") return times(joint.pose, rotationAbout(joint.axis, q));
  const slide = [...IDENTITY];
  [slide[3], slide[7], slide[11]] = joint.axis.map((x) => x * q);
  return times(joint.pose, slide);
}

/**
 * Frames of all links in the root's, joints in order from the root.
 * @param {string} root
 * @param {Joint[]} joints
 * @param {Record<string, number>} q by joint
 * @returns {Map<string, number[]>}
 */
export function linkFrames(root, joints, q) {
  const frames = new Map([[root, [...IDENTITY]]]);
  for (const joint of joints) {
    frames.set(joint.child, times(frames.get(joint.parent) ?? [...IDENTITY], jointFrame(joint, q[joint.name] ?? 0)));
  }
  return frames;
}
