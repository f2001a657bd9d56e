import { afterAll, expect } from "bun:test";
import { slow } from "../fast.ts";
import { BODY } from "../servers/example.ts";
import { Home } from "./home.ts";

const { test } = slow;

const home = await Home.start();
const { lines, faults } = home;
const send: Home["send"] = (...asked) => home.send(...asked);
afterAll(() => home.stop());

const SECRET = BODY.private_key;
const SERVER = BODY;

/** Bodies that hold a key and fail in every way that a body can, or are taken. */
const BODIES: Record<string, (string | Uint8Array)[]> = {
  "/api/custom/add": [
    JSON.stringify(SERVER),
    JSON.stringify(SERVER),
    JSON.stringify({ ...SERVER, mtu: SECRET }),
    JSON.stringify({ ...SERVER, private_key: [SECRET] }),
    JSON.stringify({ ...SERVER, private_key: { [SECRET]: SECRET } }),
    JSON.stringify({ ...SERVER, [SECRET]: 1 }),
    JSON.stringify({ ...SERVER, [`${SECRET} `]: 1 }),
    JSON.stringify({ ...SERVER, [SECRET.replace("=", "")]: 1 }),
    JSON.stringify({ ...SERVER, name: undefined }),
    JSON.stringify([SECRET]),
    JSON.stringify(SECRET),
    `{"private_key":"${SECRET}","private_key":"${SECRET}"}`,
    `{"${SECRET}":1,"${SECRET}":2}`,
    `{"private_key":"${SECRET}\\u0000"}`,
    `{"private_key":"${SECRET}\\ud800"}`,
    `{"private_key":"${SECRET}`,
    `{"private_key":${SECRET}}`,
    SECRET,
    `\uFEFF"${SECRET}"`,
    Buffer.from(`"${SECRET}\xff"`, "latin1"),
    `{"private_key":"${SECRET.repeat(2_000)}"}`,
    "[".repeat(20) + JSON.stringify(SECRET) + "]".repeat(20),
  ],
  "/api/import": [
    JSON.stringify({ name: "a", config: `[Interface]\nPrivateKey = ${SECRET}\n` }),
    JSON.stringify({ name: "a", config: [SECRET] }),
    JSON.stringify({ name: "a", conf: SECRET }),
  ],
};

test("no key of a request body is in an answer or in the log", async () => {
  for (const [path, bodies] of Object.entries(BODIES)) {
    for (const body of bodies) {
      const answers = [
        await send("POST", path, body),
        await send("POST", path, body, { "Content-Type": "text/plain" }),
        await send("POST", path, body, { Host: "evil.example" }),
        await send("POST", `${path}/nope`, body),
      ];
      for (const { status, text, args, headers } of answers) {
        expect(status).toBeGreaterThan(0);
        expect(text + JSON.stringify([args, ...headers])).not.toContain(SECRET.slice(0, 20));
      }
    }
  }
  expect(lines.length).toBeGreaterThan(90);
  expect(lines.concat(faults).join("\n")).not.toContain(SECRET.slice(0, 20));
});

test("no key in a path or a query is in an answer or in the log", async () => {
  const encoded = encodeURIComponent(SECRET);
  const before = lines.length;
  for (const path of [`/api/tunnels/${encoded}`, `/${encoded}`, `/api/status?${encoded}=${encoded}`]) {
    const { text, args } = await send("DELETE", path);
    expect(text + JSON.stringify(args)).not.toContain(encoded.slice(0, 12));
  }
  expect(lines.slice(before)).toHaveLength(3);
  expect(lines.slice(before).join("\n")).not.toContain(encoded.slice(0, 12));
});

test("a fault whose message quotes a key is logged without it", async () => {
  home.host.onEvent = (command) => {
    if (command.startsWith("wg setconf"))
      throw new Error(`cannot use ${SECRET}`, { cause: new Error(`because of ${SECRET}`) });
  };
  const { json } = await send("POST", "/api/connect", '{"server":"se-1"}');
  expect(json).toEqual({ success: false, error: "internal error" });
  expect(faults.at(-1)).toContain("cannot use (a key)");
  expect(faults.at(-1)).not.toContain(SECRET);
});
