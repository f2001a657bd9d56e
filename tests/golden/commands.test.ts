import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { run } from "../cli/program.ts";
import { slow } from "../fast.ts";
import { expectGolden } from "./golden.ts";
import { PlayedHome } from "./played-home.ts";

// What the command line says of the same home, and its help.

setDefaultTimeout(600_000);

/** Those that only look. */
const COMMANDS = [
  ...["status", "servers", "servers Sweden", "providers", "tunnels", "devices", "networks", "destinations"],
  ...[
    "device TV",
    "why 02:00:00:00:00:20 tv.example",
    "dns",
    "schedules",
    "forwards",
    "remote",
    "check",
    "https",
    "queries",
    "link",
    "speed-test",
  ],
];

/** What can be scheduled besides exits and moves. */
const EVENINGS = [
  ...["evening rate TV 20/off", "late rate TV off", "guests shared-rate 50/10", "nobody shared-rate off"],
  ...["school quota TV 1GB/day", "all shared-quota 20GB/month 1", "none shared-quota off"],
].map((words) => `schedule ${words} --at 18:00 --until 22:00`);

/** What is wrong with a command, one row for each way. */
const REFUSED = [
  ...["shared-rate", "shared-rate 5 1", "shared-rate fast --at 18:00", "shared-quota 1GB", "quota TV"],
  ...["exit TV main blocked", "exit TV", "move main blocked", "remove main", "remove --at 04:00", "remove"],
  ...["move --every 6", "move --at 04:00 --days mon-funday", "move --at 4"],
]
  .map((words) => `schedule one ${words}`)
  .concat(
    ["add", "add http://lists.example/", "remove other", "off other", "close other", "public other"]
      .concat(["open example.com TV", "doh on", "pause long"])
      .map((words) => `dns ${words}`),
  );

/** Then those that change something, so that what they print has something to tell. */
const CHANGES = [
  ...["connect Sweden", "disconnect", "use own", "tunnel amsterdam disconnect", "tunnel amsterdam remove"],
  ...["remove narrow --provider own", "device TV exit main,blocked", "device TV pause 30m"],
  ...["device TV rate 20/5", "device TV quota 500MB/day 1/0.5", "device Laptop forget"],
  ...["default-exit blocked", "network lan0 name Home", "network Home exit main,blocked", "network Home"],
  ...["shared-rate 50/10", "shared-quota off", "destination add 192.0.2.7 --exit main", "dns pause"],
  ...["schedule bed exit TV blocked --at 21:00 --until 07:00 --days sun-thu", "remote lan Phone off"],
  ...["destination remove 00159c", "forward TV:6882 --tcp --external 51414"],
  ...[
    "device TV resume",
    "device TV resume",
    "device TV pause soon",
    "device TV exit",
    "device TV colour red",
  ],
  ...["device TV exit oslo", "device TV exit blocked,main", "device TV exit main", "device TV rate off"],
  ...["device TV rate 1/2/3", "device TV quota off", "device TV quota 20", "device TV quota 1MB/day slow"],
  ...[
    "device TV address 192.168.7.50",
    "device TV address auto",
    "device TV address",
    "device TV forget now",
  ],
  ...["shared-quota 20GB/month 1", "shared-quota off told", "devices", "devices --names", "devices --exits"],
  ...["schedule night remove", "schedule night remove", "schedule often move main --every 6h"],
  ...["schedule nights move --at 04:00 --days sat", ...EVENINGS, "schedules", "schedules --names"],
  ...["dns add https://lists.example/ads.txt TV", "dns off https://lists.example/hosts", "dns doh open"],
  ...["dns open *.Bücher_1.example.", "dns close good.example", "dns private *.plex.direct", "dns"],
  ...["dns public Plex.direct.", "dns on https://lists.example/hosts", "dns pause 0", "dns doh block"],
  ...["dns close bücher_1.example", "dns remove https://lists.example/ads.txt", "dns", ...REFUSED],
];

/**
 * Those of this machine, as root, which no test plays here: their own have a machine for them, and the installer has its
 * plans. And those whose output is a file, or new at each call.
 */
const OTHERS = [
  ...["account", "direct", "export", "killswitch", "notify", "pair", "restore", "token"],
  ...["install", "serve", "setup", "try", "uninstall", "update"],
  ...["add", "completion", "history", "import", "keypair", "licenses", "logs"],
];

let played: PlayedHome;

/** What a command prints, and its exit code if it fails. */
async function said(words: string): Promise<string> {
  // No limit of requests is in the way.
  await played.home.pass(1_000);
  const { code, stdout, stderr } = await run(played.home.port, words.split(" "));
  return `$ portcullis ${words}\n${stdout}${stderr}${code === 0 ? "" : `exit code ${code}\n`}`;
}

async function commandNames(): Promise<string[]> {
  const { stdout } = await run(played.home.port, ["complete", "--", ""]);
  return stdout.split("\n").flatMap((line) => line.split("\t")[0] || []);
}

slow.describe("the command line", () => {
  // Here, because Bun runs a file's own hooks even if all of its tests are left out.
  beforeAll(async () => {
    played = await PlayedHome.play();
  });
  afterAll(() => played?.end());

  test("each command prints the same", async () => {
    const texts: string[] = [];
    for (const words of [...COMMANDS, ...CHANGES]) texts.push(await said(words));
    await expectGolden(join(import.meta.dir, "commands.txt"), texts.join("\n"));
  });

  test("no command is left out", async () => {
    const played = [...COMMANDS, ...CHANGES].map((words) => words.split(" ")[0] ?? "");
    expect([...new Set([...played, ...OTHERS])].toSorted()).toEqual((await commandNames()).toSorted());
  });

  test("each command's help is the same", async () => {
    const top = await said("--help");
    const texts: string[] = [];
    for (const name of await commandNames()) texts.push(await said(`${name} --help`));
    await expectGolden(join(import.meta.dir, "help.txt"), [top, ...texts].join("\n"));
  });
});
