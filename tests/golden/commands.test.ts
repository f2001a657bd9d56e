import { afterAll, beforeAll, setDefaultTimeout, test } from "bun:test";
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
  ],
];

let played: PlayedHome;

/** What a command prints, and its exit code if it fails. */
async function said(words: string): Promise<string> {
  // No limit of requests is in the way.
  await played.home.pass(1_000);
  const { code, stdout, stderr } = await run(played.home.port, words.split(" "));
  return `$ portcullis ${words}\n${stdout}${stderr}${code === 0 ? "" : `exit code ${code}\n`}`;
}

slow.describe("the command line", () => {
  // Here, because Bun runs a file's own hooks even if all of its tests are left out.
  beforeAll(async () => {
    played = await PlayedHome.play();
  });
  afterAll(() => played?.end());

  test("each command prints the same", async () => {
    const texts: string[] = [];
    for (const words of COMMANDS) texts.push(await said(words));
    await expectGolden(join(import.meta.dir, "commands.txt"), texts.join("\n"));
  });

  test("each command's help is the same", async () => {
    const top = await said("--help");
    const { stdout } = await run(played.home.port, ["complete", "--", ""]);
    const names = stdout.split("\n").flatMap((line) => line.split("\t")[0] || []);
    const texts: string[] = [];
    for (const name of names) texts.push(await said(`${name} --help`));
    await expectGolden(join(import.meta.dir, "help.txt"), [top, ...texts].join("\n"));
  });
});
