import { afterAll, expect } from "bun:test";
import { customServer } from "../../src/servers/custom.ts";
import { formatConfig } from "../../src/wireguard/config-text.ts";
import { Client } from "../binary/client.ts";
import { slow } from "../fast.ts";
import { BODY, CONFIG, PRESHARED } from "../servers/example.ts";
import { Home } from "./home.ts";

const { test } = slow;

/** Processor time, so that other programs of the machine do not count. */
const MAX_WORK_MS = 50;
/** Garbage collection or compilation may delay one answer, but not all of them. */
const TRIES = 30;
/** The longest body, and almost the longest head, that are accepted. */
const [BODY_BYTES, HEAD_BYTES] = [65_536, 15_000];

/** The whole path of a request: listener, pipeline, routes, catalogue, and a tunnel on a fake kernel. */
const home = await Home.start();
afterAll(() => home.stop());

/** Each is repeated to the full length; `a…b` has letters at its ends, where trimming stops. */
const GRAINS = [
  ...[" ", "\t", "\n", "\r", "\r\n", "\0", "\u00a0", "\ufeff", "\ud800", "é", "😀", "a", "A/", "0", "1", "="],
  ...[",", ", ", ":", ".", "/", "//", "%", "%2e", "-", "[", "]", "[]", "[[", "{", "}", "{}", '"', "\\", "#"],
  ...[
    "a.",
    "a,",
    "1.",
    "1:",
    "::",
    "0.0.0.0/0,",
    "::/0,",
    "fd00::1/128,",
    "a:1,",
    "[::1]:1",
    "255.",
    "e\u0301",
  ],
];
const BORDERED = [" ", "\t", ",", " ,", ".", "\n", "\r", "[", "="].map((grain) => ["a", grain, "b"] as const);

function filled(length: number): string[] {
  const times = (grain: string, room: number) => grain.repeat(Math.max(0, Math.floor(room / grain.length)));
  return [
    ...GRAINS.map((grain) => times(grain, length)),
    ...BORDERED.map(([first, grain, last]) => first + times(grain, length - 2) + last),
    ...[4, 16].map((parts) => `a${" ".repeat(Math.floor(length / parts) - 3)}b\n`.repeat(parts)),
    Array.from({ length }, (_, at) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}/32`)
      .join(",")
      .slice(0, length),
    Array.from({ length }, (_, at) => `fd00::${at.toString(16)}/128`)
      .join(",")
      .slice(0, length),
  ];
}

/** Files in which every line is valid, or almost. */
const FILES = [
  ...[
    "[Interface]\n",
    "[Peer]\n",
    "MTU=1400\n",
    "Table=off\n",
    "ListenPort=1\n",
    "DNS=1.1.1.1\n",
    "Address=::1\n",
  ],
  ...["a=b\n", "PostUp=x\n", "=\n", "#\n", "MTU = 1400 \t\n", "DNS=a,b\n", `PrivateKey=${PRESHARED}\n`],
].map((line) => `[Interface]\n${line.repeat(Math.floor(60_000 / (line.length + 1)))}${formatConfig(CONFIG)}`);

/** The largest server that is accepted. */
const PREFIXES = Array.from(
  { length: 1_024 },
  (_, at) => `fd00:1111:2222:3333:4444:5555:6666:${(at + 4096).toString(16)}/128`,
);
const DOMAINS = Array.from(
  { length: 16 },
  (_, at) => `${`${"a".repeat(62)}.`.repeat(3)}${"b".repeat(60)}${at + 10}x`,
);
const LARGEST = {
  ...BODY,
  allowed_ips: PREFIXES.join(","),
  dns: DOMAINS.join(","),
  address: PREFIXES.slice(0, 16).join(","),
};

/** A body of at most the longest length, however long the text becomes as JSON. */
function withField(body: object, field: string, text: string): string {
  for (let length = text.length; ; length = Math.floor(length * 0.9)) {
    const json = JSON.stringify({ ...body, [field]: text.slice(0, length) });
    if (Buffer.byteLength(json) <= BODY_BYTES) return json;
  }
}

const manyFields = (value: string) =>
  `{${Array.from({ length: 5_000 }, (_, at) => `"f${at}":${value}`).join(",")}}`.slice(0, BODY_BYTES);
const WHOLE = [
  ...filled(BODY_BYTES),
  ...["[", '{"a":', "[{"].map((open) => open.repeat(BODY_BYTES / open.length)),
  `${"[".repeat(BODY_BYTES / 2)}${"]".repeat(BODY_BYTES / 2)}`,
  `[${"1,".repeat(BODY_BYTES / 2 - 1)}1]`,
  `{"name":[${'"a",'.repeat(16_000)}"a"]}`,
  manyFields("1"),
  manyFields('""'),
  `{${Array.from({ length: 5_000 }, (_, at) => `"f${at}":1`).join(",")}}`,
  `{"${"a".repeat(BODY_BYTES - 6)}":1}`,
  `{"${"A/+0".repeat(BODY_BYTES / 4 - 2)}":1}`,
  `"${"\\u0061".repeat(BODY_BYTES / 6 - 1)}"`,
  `"${"\\\\".repeat(BODY_BYTES / 2 - 1)}"`,
];

const MINIMAL = { name: "a", config: formatConfig(CONFIG) };
const OPTIONAL = ["dns", "allowed_ips", "location", "preshared_key", "persistent_keepalive", "mtu"];
const BODIES: [path: string, body: object, fields: string[]][] = [
  ["/api/custom/add", BODY, [...Object.keys(BODY), ...OPTIONAL]],
  ["/api/import", MINIMAL, Object.keys(MINIMAL)],
  ["/api/connect", { server: "a" }, ["server"]],
];

for (const [path, body, fields] of BODIES) {
  for (const field of fields) {
    test(`the worst texts for ${field} of ${path} cost no more than ${MAX_WORK_MS} ms`, async () => {
      const more = field === "config" ? FILES : [];
      for (const text of [...filled(BODY_BYTES), ...more]) {
        await expectQuick("POST", path, withField(body, field, text));
      }
    }, 120_000);
  }
}

test.each(["/api/custom/add", "/api/import", "/api/connect", "/api/disconnect", "/api/provider/custom"])(
  "the worst bodies for %s cost no more",
  async (path) => {
    for (const body of WHOLE) await expectQuick("POST", path, body);
  },
  120_000,
);

test("the worst names in paths, queries and headers cost no more", async () => {
  for (const text of filled(HEAD_BYTES).map((each) =>
    encodeURIComponent(each.toWellFormed()).slice(0, HEAD_BYTES),
  )) {
    await expectQuick("DELETE", `/api/custom/remove/${text}`);
    await expectQuick("DELETE", `/api/import/${text}`);
    await expectQuick("POST", `/api/provider/${text}`);
    await expectQuick("GET", `/api/status?${text}`);
    await expectQuick("GET", `/${text}`);
  }
  for (const text of filled(HEAD_BYTES).filter((each) => /^[\x20-\x7e]+$/.test(each))) {
    for (const name of ["Host", "Origin", "If-None-Match", "Content-Type", "Sec-Fetch-Site"]) {
      await expectQuick("POST", "/api/custom/add", "{}", { [name]: text });
      await expectQuick("GET", "/api/servers", undefined, { [name]: text });
    }
  }
}, 120_000);

test("the largest servers that are accepted cost no more, added or imported", async () => {
  const { config } = customServer(LARGEST);
  for (let name = 0; name < 5; name++) {
    await expectQuick("POST", "/api/custom/add", JSON.stringify({ ...LARGEST, name: `largest ${name}` }));
    await expectQuick(
      "POST",
      "/api/import",
      JSON.stringify({ name: `largest ${name}`, config: formatConfig(config) }),
    );
  }
});

async function expectQuick(...request: Parameters<Client["send"]>): Promise<void> {
  let [least, status] = [Number.POSITIVE_INFINITY, 0];
  for (let tries = 0; tries < TRIES && least > MAX_WORK_MS; tries++) {
    const client = new Client(home.port);
    const before = process.cpuUsage();
    ({ status } = await client.send(...request));
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  const [method, path, body = "", headers = {}] = request;
  const shown = [method, path.slice(0, 40), String(body).slice(0, 60), JSON.stringify(headers).slice(0, 60)];
  expect({ shown, status, least: least <= MAX_WORK_MS ? "quick" : least }).toEqual({
    shown,
    status,
    least: "quick",
  });
}
