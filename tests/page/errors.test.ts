import { expect, test } from "bun:test";
import { join } from "node:path";

const PAGE = join(import.meta.dir, "../../src/dashboard");

/** The page's language is that of its first import, so each has a process of its own. */
const SCRIPT = `
  const answers = JSON.parse(process.env.ANSWERS);
  const asked = [];
  const { pack } = await import(process.env.PAGE + "/../shared/message-key.ts");
  globalThis.document = { cookie: "portcullis-language=" + process.env.SHOWN, hidden: true };
  globalThis.fetch = async (path) => {
    if (!path.startsWith("/api/")) {
      if (/errors[.]de/.test(path)) asked.push(path);
      const file = Bun.file(path);
      return /languages/.test(path) ? Response.json(pack(await file.json())) : new Response(file);
    }
    const { code, ...body } = answers[Number(path.slice("/api/".length))];
    return Response.json({ success: false, ...body }, { status: 400, headers: { "Error-Code": code } });
  };
  const { change } = await import(process.env.PAGE + "/api.ts");
  const { faultIn } = await import(process.env.PAGE + "/fault.ts");
  const { rowFaultText } = await import(process.env.PAGE + "/codes.ts");
  const rows = JSON.parse(process.env.ROWS);
  const early = rows.map(rowFaultText);
  const told = [];
  for (const at of answers.keys()) {
    const text = await change("PUT", String(at)).catch(({ message }) => message);
    told.push([text, faultIn(text, ["name", "mtu"])]);
  }
  console.log(JSON.stringify({ told, asked: asked.length, rows: { early, later: rows.map(rowFaultText) } }));
`;

const ANSWERS = [
  {
    code: "not_found",
    error: "name: no device away from home has this name",
    args: { what: "remote_unknown", field: "name" },
  },
  {
    code: "bad_request",
    error: "mtu must be a whole number from 576 to 65535",
    args: { what: "must_be_integer", field: "mtu", min: 576, max: 65_535 },
  },
  {
    code: "kernel_refused",
    error: "the tunnel could not be removed: ip failed",
    args: { what: "tunnel_not_removed", reason: "ip failed" },
  },
  {
    code: "bad_request",
    error: "mtu must be a whole number or null",
    args: { what: "must_be", field: "mtu", reason: "a whole number or null" },
  },
  {
    code: "bad_request",
    error: "lists[0].name: must be an https address",
    args: { what: "list_url_invalid", field: "lists[0].name" },
  },
  {
    code: "bad_request",
    error: "name must be tcp, udp or both",
    args: { what: "must_be_one_of", field: "name", known: "tcp, udp", last: "both", count: 3 },
  },
  { code: "bad_request", error: "name: is odd", args: { what: "of_a_newer_gateway", field: "name" } },
  { code: "not_found", error: "name: of an older gateway" },
];

/** What is wrong with rows of lists. */
const ROWS = [
  { error: null },
  { error: "remote access is off; to turn it on, …", error_args: { what: "remote_off" } },
  {
    error: "the home router 192.168.8.1 forwards no port by itself (refused)",
    error_args: { what: "home_router_refused", router: "192.168.8.1", reason: "refused" },
  },
  { error: "is odd", error_args: { what: "of_a_newer_gateway" } },
  { error: "what an older gateway has kept" },
];

async function toldIn(language: string) {
  const { PATH = "" } = process.env;
  const env = {
    ...{ PATH, PAGE, SHOWN: language },
    ...{ ANSWERS: JSON.stringify(ANSWERS), ROWS: JSON.stringify(ROWS) },
  };
  const child = Bun.spawn([process.execPath, "-e", SCRIPT], { env, cwd: PAGE });
  return JSON.parse(await new Response(child.stdout).text()) as {
    told: unknown[];
    asked: number;
    rows: Record<"early" | "later", unknown[]>;
  };
}

test("an error is told in the reader's language by its row, at its field; without one, by its code", async () => {
  const { told, asked } = await toldIn("de");
  expect(told).toEqual([
    [
      "name: Kein Gerät für unterwegs hat diesen Namen.",
      { field: "name", text: "Kein Gerät für unterwegs hat diesen Namen." },
    ],
    [
      "mtu: muss eine ganze Zahl sein, von 576 bis 65535",
      { field: "mtu", text: "Muss eine ganze Zahl sein, von 576 bis 65535" },
    ],
    ["Der Tunnel konnte nicht entfernt werden: \nip failed", null],
    [
      "mtu: ist nicht gültig. Möglich ist \na whole number or null",
      { field: "mtu", text: "Ist nicht gültig. Möglich ist \na whole number or null" },
    ],
    [
      expect.stringMatching(/^lists\[0\]\.name: /),
      { field: "name", text: "Es muss eine HTTPS-Adresse sein." },
    ],
    ["name: möglich sind tcp, udp oder both", { field: "name", text: "Möglich sind tcp, udp oder both" }],
    [
      "Das Gateway nimmt das nicht an.\nName: is odd.",
      { field: "name", text: expect.stringMatching(/\nIt is odd\.$/) },
    ],
    [
      expect.stringMatching(/\nName: of an older gateway\.$/),
      { field: "name", text: expect.stringMatching(/\nOf an older gateway\.$/) },
    ],
  ]);
  expect(asked).toBe(1);
});

test("in English, an error is the gateway's own sentence, and no catalogue is asked for", async () => {
  const { told, asked } = await toldIn("en");
  expect(told[1]).toEqual([
    "Mtu must be a whole number from 576 to 65535.",
    { field: "mtu", text: "It must be a whole number from 576 to 65535." },
  ]);
  expect(asked).toBe(0);
});

test("what is wrong with a row is told in the reader's language, once what errors say is there", async () => {
  const { rows, asked } = await toldIn("de");
  expect(asked).toBe(1);
  const own = ["\nIs odd.", "\nWhat an older gateway has kept."];
  expect(rows.early).toEqual([
    null,
    "\nRemote access is off; to turn it on, ….",
    "\nThe home router 192.168.8.1 forwards no port by itself (refused).",
    ...own,
  ]);
  expect(rows.later).toEqual([
    null,
    "Der Fernzugriff ist aus. Um ihn einzuschalten, auf dem Gateway: sudo portcullis remote on",
    "Der Router 192.168.8.1 gibt von selbst keinen Port frei: \nrefused",
    ...own,
  ]);
  expect((await toldIn("en")).rows.later).toEqual([
    null,
    "Remote access is off; to turn it on, ….",
    "The home router 192.168.8.1 forwards no port by itself (refused).",
    "Is odd.",
    "What an older gateway has kept.",
  ]);
});
