// The arm as things to draw, from the server's picture: once solid, and as ghosts.
import {
  BoxGeometry, Color, CylinderGeometry, EdgesGeometry, Group, LineBasicMaterial, LineSegments, Matrix4, Mesh,
  MeshBasicMaterial, MeshLambertMaterial, SphereGeometry,
} from "three";
import { linkFrames } from "./frames.js";

/**
 * @typedef {{ kind: string, size: number[], pose: number[], colour: number[], mesh?: number, file?: string, suffix?: string }} Shape
 * @typedef {{ name: string, unit: import("./units.js").Unit, lower: number | null, upper: number | null, velocity: number | null,
 *   effort_unit: string, stall: number, peak: number, hold: number, home: number, rest: number }} Moving
 * @typedef {{ name: string, root: string, tool: string, gripper: boolean, links: Record<string, Shape[]>, missing: string[],
 *   joints: import("./frames.js").Joint[], moving: Moving[] }} Picture
 * @typedef {"solid" | "ghost" | "outline"} Style
 * @typedef {(shape: Shape) => Promise<import("three").BufferGeometry | null>} MeshLoader
 */

/** A ghost stands a little behind itself: where it coincides with the arm, it is hidden by it. */
const BEHIND = { polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 4 };
const EDGE_DEG = 25;

export class ArmFigure extends Group {
  /**
   * @param {Picture} picture
   * @param {Style} style
   * @param {MeshLoader} load
   * @param {() => void} changed
   */
  constructor(picture, style, load, changed) {
    super();
    this.picture = picture;
    this.style = style;
    /** @type {Map<string, Group>} */
    this.links = new Map();
    this.colour = new Color();
    this.ghost = new MeshBasicMaterial({ transparent: true, opacity: 0.28, depthWrite: false, ...BEHIND });
    this.line = new LineBasicMaterial({ transparent: true, opacity: 0.95 });
    const parts = [];
    for (const [name, shapes] of Object.entries(picture.links)) {
      const link = new Group();
      link.matrixAutoUpdate = false;
      this.links.set(name, link);
      this.add(link);
      for (const shape of shapes) parts.push(this.#put(link, shape, load, changed));
    }
    /** Once all is there that will come. */
    this.complete = Promise.allSettled(parts);
    this.pose(picture.moving.map((joint) => joint.home));
  }

  /** Colour of a ghost or outline. @param {string} colour @param {number} opacity */
  tint(colour, opacity = 0.28) {
    this.ghost.color.set(colour);
    this.ghost.opacity = opacity;
    this.line.color.set(colour);
  }

  /** @param {number[]} q in the order of the moving joints */
  pose(q) {
    const named = Object.fromEntries(this.picture.moving.map((joint, k) => [joint.name, q[k]]));
    for (const [name, frame] of linkFrames(this.picture.root, this.picture.joints, named)) {
      const link = this.links.get(name);
      if (!link) continue;
      link.matrix.set(.../** @type {FixedFrame} */ (frame));
      link.matrixWorldNeedsUpdate = true;
    }
  }

  /** Give the link behind a joint that colour; none: no link. @param {string} joint @param {string} colour */
  highlight(joint, colour) {
    const child = this.picture.joints.find((one) => one.name === joint)?.child;
    for (const [name, link] of this.links) {
      link.traverse((part) => {
        if (part instanceof Mesh && part.material instanceof MeshLambertMaterial) {
          part.material.color.set(name === child ? colour : part.userData.colour);
          part.material.emissive.set(name === child ? colour : "#000");
          part.material.emissiveIntensity = 0.35;
        }
      });
    }
  }

  /** @param {Group} link @param {Shape} shape @param {MeshLoader} load @param {() => void} changed */
  async #put(link, shape, load, changed) {
    const geometry = shape.kind === "mesh" ? await load(shape) : solid(shape);
    if (!geometry) return;
    const pose = new Matrix4().set(.../** @type {FixedFrame} */ (shape.pose));
    if (shape.kind === "mesh") pose.multiply(new Matrix4().makeScale(shape.size[0], shape.size[1], shape.size[2]));
    else if (shape.kind === "cylinder") pose.multiply(new Matrix4().makeRotationX(Math.PI / 2));
    geometry.applyMatrix4(pose);
    if (this.style === "outline") {
      link.add(new LineSegments(new EdgesGeometry(geometry, EDGE_DEG), this.line));
    } else if (this.style === "ghost") {
      const mesh = new Mesh(geometry, this.ghost);
      mesh.renderOrder = 2;
      link.add(mesh);
    } else {
      const [r, g, b, a] = shape.colour;
      const material = new MeshLambertMaterial({ transparent: a < 1, opacity: a });
      material.color.setRGB(r, g, b, "srgb");
      const mesh = new Mesh(geometry, material);
      mesh.userData.colour = material.color.clone();
      link.add(mesh);
    }
    changed();
  }
}

/** @typedef {[number, number, number, number, number, number, number, number, number, number, number, number, number, number, number, number]} FixedFrame */

/** @param {Shape} shape */
export function solid({ kind, size }) {
  if (kind === "box") return new BoxGeometry(...size);
  if (kind === "cylinder") return new CylinderGeometry(size[0], size[0], size[1], 40);
  return new SphereGeometry(size[0], 32, 20);
}
