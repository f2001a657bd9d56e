import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { answerOperator, type OperatorAnswers } from "../../src/operator/operator.ts";
import { needsRoot } from "../fast.ts";
import { Home } from "../http/home.ts";
import { newDirectory } from "../tunnel/directory.ts";
import { run } from "./program.ts";

setDefaultTimeout(60_000);

let home: Home;
let stop = () => {};
const stateDir = newDirectory();
beforeEach(async () => {
  home = await Home.withRealClock();
  const { devices, controller } = home.graph;
  // The requests that are asked for here.
  const answers = {
    killswitch: async () => ({ ...(await controller.inspection()), direct: devices.direct }),
    "direct/on": async () => ({ blocked: await devices.setDirect(true) }),
    "direct/off": async () => ({ blocked: await devices.setDirect(false) }),
  } satisfies Partial<OperatorAnswers> as unknown as OperatorAnswers;
  const log = { warn: (message: string) => console.error(message) };
  const clock = { sleep: () => Promise.resolve() };
  ({ stop } = answerOperator(stateDir, answers, { clock, log }));
});
afterEach(async () => {
  stop();
  await home.stop();
});

afterAll(() => rmSync(stateDir, { recursive: true }));

const cli = (...args: string[]) => run(home.port, args, { env: { PORTCULLIS_STATE_DIR: stateDir } });
const verdict = async () => (await cli("killswitch", "status")).stdout.split("\n")[0];

needsRoot.test("direct is allowed and withdrawn, and everything says which devices have it", async () => {
  const { devices } = home.graph;
  expect(await cli("direct", "on")).toEqual({
    code: 0,
    stdout: "Devices may be given the exit direct now: portcullis device <id or name> exit direct\n",
    stderr: "",
  });
  expect(await verdict()).toBe(
    "The kill switch is in place: nothing reaches the internet outside the tunnel.",
  );
  expect((await cli("status")).stdout).not.toContain("Direct");
  await devices.assign("02:00:00:00:00:20", { name: "TV", exit: "direct" });
  expect(await verdict()).toBe(
    "The kill switch is in place. These devices leave outside the tunnel, as the operator allows: TV (02:00:00:00:00:20).",
  );
  expect(JSON.parse((await cli("killswitch", "status", "--json")).stdout).direct).toEqual([
    "TV (02:00:00:00:00:20)",
  ]);
  expect((await cli("status")).stdout).toContain("Direct       1 device leaves outside the tunnel\n");
  expect((await home.status()).direct_devices).toBe(1);
  expect((await cli("direct", "off", "--json")).stdout).toBe(
    '{"success":true,"blocked":["TV (02:00:00:00:00:20)"]}\n',
  );
  expect((await cli("direct", "off")).stdout).toBe("No device may leave outside the tunnel now.\n");
  expect((await home.status()).direct_devices).toBe(0);
});

test("without a service nobody could move devices in the kernel, so the command says to start it", async () => {
  stop();
  const { code, stderr } = await cli("direct", "off");
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^portcullis: (the service does not run; start it: systemctl start portcullis|needs root; type: sudo portcullis direct off)\n$/,
  );
});
