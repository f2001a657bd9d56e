// The service of Mullvad's servers that makes a tunnel's keys safe from quantum computers, for Node.js: its HTTP/2, its
// ML-KEM and its reading of protocol buffers are not those of the gateway. Written from ephemeralpeer.proto.
//
// Arguments: the address to listen on, the port, and the WireGuard interface, or nothing without one. Each line on
// standard input is a way to behave, or "unload"; each line on standard output is what has happened.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ml_kem1024 } from "@noble/post-quantum/ml-kem.js";

const PATH = "/ephemeralpeer.EphemeralPeer/RegisterPeerV1";
const LOOK_MS = 20;
const [address = "", port = "", wireguard = ""] = process.argv.slice(2);

/** `answer`, `silent`, `lost`, `refuse`, `short`, `flood`: what becomes of a request. */
let behaviour = "answer";
/** By the normal peer's key: its addresses, the ephemeral peer's key, and which of the two is loaded. */
const peers = new Map();

createInterface({ input: process.stdin }).on("line", (line) => {
  if (line === "unload") for (const [parent, peer] of peers) unload(parent, peer);
  else behaviour = line;
  console.log(`behaves: ${line}`);
});

function wg(words) {
  const { status, stdout, stderr } = spawnSync("wg", words, { encoding: "utf8" });
  if (status !== 0) throw new Error(`wg ${words[0]}: ${stderr}`);
  return stdout;
}

/** Fields by their number: the bytes of each that has a length. */
function fieldsIn(bytes) {
  const fields = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    if ((key & 7) !== 2) throw new Error("no field with a length");
    const length = varint();
    fields.push([key >> 3, bytes.subarray(at, at + length)]);
    at += length;
  }
  return fields;
}

function field(number, bytes) {
  const head = [(number << 3) | 2];
  for (let left = bytes.length; ; left >>= 7) {
    if (left < 0x80) {
      head.push(left);
      return Buffer.concat([Buffer.from(head), bytes]);
    }
    head.push((left & 0x7f) | 0x80);
  }
}

const first = (fields, number) => fields.find(([each]) => each === number)?.[1];

function register(request) {
  const fields = fieldsIn(request);
  const [parent, ephemeral] = [1, 2].map((number) => Buffer.from(first(fields, number)).toString("base64"));
  const offers = fieldsIn(first(fields, 3)).map(([, offer]) => fieldsIn(offer));
  const psk = Buffer.alloc(32);
  const ciphertexts = offers.map((offer) => {
    const name = Buffer.from(first(offer, 1)).toString();
    if (name !== "ML-KEM-1024") throw new Error(`unknown algorithm ${name}`);
    const { cipherText, sharedSecret } = ml_kem1024.encapsulate(first(offer, 2), randomBytes(32));
    for (const [index, byte] of sharedSecret.entries()) psk[index] ^= byte;
    return Buffer.from(cipherText);
  });
  if (wireguard !== "") add(parent, ephemeral, psk.toString("base64"));
  else console.log(`psk: ${psk.toString("base64")}`);
  console.log(`registered: ${ephemeral} for ${parent}`);
  const answer = ciphertexts.map((each) => field(1, behaviour === "short" ? each.subarray(1) : each));
  return field(1, Buffer.concat(answer));
}

/** Known to WireGuard, so that it can shake hands, but without addresses: those still belong to the normal peer. */
function add(parent, ephemeral, psk) {
  const known = peers.get(parent);
  if (known !== undefined) wg(["set", wireguard, "peer", known.ephemeral, "remove"]);
  const addresses = known?.addresses ?? addressesOf(parent);
  if (known?.loaded) load(parent, addresses);
  // Node's pipes are sockets, which `wg` cannot open as /dev/stdin.
  const folder = mkdtempSync(join(tmpdir(), "psk-"));
  const file = join(folder, "psk");
  writeFileSync(file, `${psk}\n`, { mode: 0o600 });
  wg(["set", wireguard, "peer", ephemeral, "preshared-key", file]);
  rmSync(folder, { recursive: true });
  peers.set(parent, { ephemeral, addresses, loaded: false });
}

function addressesOf(key) {
  const line = wg(["show", wireguard, "allowed-ips"])
    .split("\n")
    .find((each) => each.startsWith(key));
  if (line === undefined) throw new Error("no such peer");
  return line.split("\t")[1].replaceAll(" ", ",");
}

function load(key, addresses) {
  wg(["set", wireguard, "peer", key, "allowed-ips", addresses]);
}

/** Whoever shook hands last is loaded. A handshake of the normal peer's ends the ephemeral one for good. */
function look() {
  const lines = wg(["show", wireguard, "latest-handshakes"]).trim().split("\n");
  const at = new Map(lines.map((line) => line.split("\t")).map(([key, time]) => [key, Number(time)]));
  for (const [parent, { ephemeral, addresses, loaded }] of peers) {
    if (!loaded && at.get(ephemeral) > 0) {
      load(ephemeral, addresses);
      forgetHandshake(parent);
      peers.set(parent, { ephemeral, addresses, loaded: true });
      console.log(`loaded: ${ephemeral}`);
    } else if (loaded && at.get(parent) > 0) {
      unload(parent, { ephemeral, addresses });
    }
  }
}

/** `wg` tells whole seconds, and the next handshake may be in the same one: a new peer has shaken no hands. */
function forgetHandshake(key) {
  wg(["set", wireguard, "peer", key, "remove", "peer", key]);
}

/** As after a handshake of another machine that has the normal peer's key. */
function unload(parent, { ephemeral, addresses }) {
  wg(["set", wireguard, "peer", ephemeral, "remove"]);
  load(parent, addresses);
  peers.delete(parent);
  console.log(`unloaded: ${ephemeral}`);
}

function answer(stream, message) {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([prefix, message]));
}

function refuse(stream, status) {
  const headers = { ":status": 200, "content-type": "application/grpc", "grpc-status": String(status) };
  stream.respond(headers, { endStream: true });
}

const server = createServer();
server.on("stream", (stream, headers) => {
  const parts = [];
  stream.on("error", () => {});
  stream.on("data", (part) => parts.push(part));
  stream.on("end", () => {
    console.log(`asked: ${behaviour}`);
    if (headers[":path"] !== PATH || behaviour === "refuse") return refuse(stream, 12);
    if (behaviour === "silent") return;
    if (behaviour === "flood") return answer(stream, Buffer.alloc(1 << 20));
    const bytes = Buffer.concat(parts);
    try {
      if (bytes[0] !== 0 || bytes.readUInt32BE(1) !== bytes.length - 5) throw new Error("no message");
      const message = register(bytes.subarray(5));
      if (behaviour !== "lost") answer(stream, message);
    } catch (error) {
      console.log(`refused: ${error.message}`);
      refuse(stream, 3);
    }
  });
});
server.on("sessionError", () => {});
server.listen(Number(port), address, () => {
  console.log(`listening: ${server.address().port}`);
});
if (wireguard !== "") setInterval(look, LOOK_MS);
