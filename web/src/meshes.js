// Meshes that the URDF names, as the server hands them out; what reads them is loaded where there is one.
import { BufferGeometry, Matrix4, Mesh } from "three";

/** @typedef {import("./arm.js").Shape} Shape */

/** What has not come within this does not: the picture does not wait for it. */
const MESH_MS = 30_000;

/**
 * @param {import("./connection.js").Connection} connection
 * @param {(text: string) => void} complain
 * @returns {import("./arm.js").MeshLoader}
 */
export function meshLoader(connection, complain) {
  /** @type {Map<number, Promise<BufferGeometry | null>>} */
  const known = new Map();
  return async (shape) => {
    const number = shape.mesh ?? -1;
    if (!known.has(number)) known.set(number, read(connection, shape, complain));
    return (await known.get(number))?.clone() ?? null;
  };
}

/**
 * @param {import("./connection.js").Connection} connection
 * @param {Shape} shape
 * @param {(text: string) => void} complain
 */
async function read(connection, { mesh, file, suffix }, complain) {
  try {
    const geometry = await parsed(await connection.get(`/api/mesh/${mesh}`, AbortSignal.timeout(MESH_MS)), suffix ?? "");
    const places = geometry?.attributes.position?.array;
    if (!geometry || !places?.length) throw new Error("there is nothing in it");
    if (!places.every(Number.isFinite)) throw new Error("not all its numbers are finite");
    return geometry;
  } catch (error) {
    complain(`mesh ${file} is not shown: ${error instanceof Error ? error.message : error}`);
    return null;
  }
}

/** @param {Response} answer @param {string} suffix @returns {Promise<BufferGeometry | null>} */
async function parsed(answer, suffix) {
  if (suffix === ".stl") {
    const { STLLoader } = await import("three/addons/loaders/STLLoader.js");
    return new STLLoader().parse(await answer.arrayBuffer());
  }
  const { mergeGeometries } = await import("three/addons/utils/BufferGeometryUtils.js");
  const scene = await (suffix === ".obj" ? readObj(answer) : readDae(answer));
  /** @type {BufferGeometry[]} */
  const parts = [];
  scene.updateMatrixWorld(true);
  scene.traverse((part) => {
    if (!(part instanceof Mesh)) return;
    const bare = new BufferGeometry();
    const whole = part.geometry.index ? part.geometry.toNonIndexed() : part.geometry;
    bare.setAttribute("position", whole.attributes.position.clone());
    bare.applyMatrix4(new Matrix4().copy(part.matrixWorld));
    bare.computeVertexNormals();
    parts.push(bare);
  });
  return parts.length ? mergeGeometries(parts) : null;
}

/** @param {Response} answer */
async function readObj(answer) {
  const { OBJLoader } = await import("three/addons/loaders/OBJLoader.js");
  return new OBJLoader().parse(await answer.text());
}

/** As ROS's tools read it: its unit counts, which axis it calls up does not. @param {Response} answer */
async function readDae(answer) {
  const { ColladaLoader } = await import("three/addons/loaders/ColladaLoader.js");
  const collada = new ColladaLoader().parse(await answer.text(), "");
  if (!collada) throw new Error("no COLLADA");
  collada.scene.rotation.set(0, 0, 0);
  return collada.scene;
}
