import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { blocksIn, sessionIn } from "../binary/page.ts";
import { newLink } from "../fake/link.ts";
import { slow } from "../fast.ts";
import { Home } from "../http/home.ts";
import { run } from "./program.ts";

const { test } = slow;

// Each command is a program, which needs seconds on a busy machine.
setDefaultTimeout(240_000);

const PAGE = await Bun.file(join(import.meta.dir, "../../docs/networks.md")).text();
const MAC = "02:00:00:00:00:30";

let home: Home;
beforeAll(async () => {
  home = await Home.start();
  for (const [at, name] of ["eth0.20", "eth0.30", "eth1", "tailscale0"].entries())
    home.host.links.set(name, newLink({ up: true, addresses: [`192.168.${20 + at}.1/24`] }));
  await home.parts.tunnels.machine.checkNetwork();
  home.hear(MAC, "192.168.7.30");
  await home.send("PUT", `/api/devices/${MAC}`, { name: "Hub" });
  const amsterdam = { targets: [{ provider: "managed", server: "se-1" }] };
  expect(await home.ask("PUT", "/api/tunnels/amsterdam", amsterdam)).toMatchObject({ status: 200 });
});
afterAll(() => home?.stop());

/** The commands of a recipe that need no root, in its blocks and sentences. */
function commandsOf(recipe: string): string[] {
  const [, after = ""] = PAGE.split(`\n## ${recipe}\n`);
  const [section = ""] = after.split("\n## ");
  const blocks = blocksIn(section).flatMap(({ text }) => sessionIn(text).map(({ command }) => command));
  const inText = [...section.matchAll(/`(portcullis device Hub [^`]*)`/g)].map(([, command = ""]) => command);
  return [...blocks, ...inText].filter((command) => command.startsWith("portcullis "));
}

// That packets obey what is decided here is shown by the leak scenarios of networks, meshes and links.
test.each([
  [
    "Guests",
    ["exit amsterdam", "page off"],
    [{ interface: "eth0.20", name: "Guests", exit: "amsterdam", page: false, others: false }],
  ],
  [
    "Smart home",
    ["others on", "portcullis device Hub exit main"],
    [
      { interface: "eth0.30", name: "Things", exit: "blocked", page: false, others: true },
      { interface: "eth1", page: true, others: true },
    ],
  ],
  ["Tailscale and other meshes", ["exit main"], [{ interface: "tailscale0", exit: "main" }]],
])("each command of the recipe %s does what the page says", async (recipe, ends, decided) => {
  const commands = commandsOf(recipe);
  for (const end of ends) expect(commands.join("\n")).toContain(end);
  for (const command of commands) {
    await home.pass(1_000);
    const { code, stderr } = await run(home.port, command.split(" ").slice(1));
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: "" });
  }
  const { networks } = await home.ask("GET", "/api/networks");
  expect(networks).toEqual(expect.arrayContaining(decided.map((each) => expect.objectContaining(each))));
});
