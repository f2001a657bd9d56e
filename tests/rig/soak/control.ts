import type { Home } from "../home/home.ts";
import { assign, changeRule } from "../judges/changes.ts";
import { CLEAR } from "../judges/sightings.ts";

/** What was seen in clear without a kill switch. */
export interface Control {
  /** Frames at the home router that the sniffer takes for leaks. */
  frames: number;
  /** Marked packets of the devices, by their marks. */
  packets: number;
}

/** Of each device, in clear. */
const ENOUGH = 20;
/** Priorities of the gateway's routing rules; the kernel's own are at 0 and from 32766. */
const OWN_RULES = { first: 10, last: 99 };

/** Positive control: stops the service, removes both layers, waits until leaks are seen, and lets it come back. */
export async function control(home: Home): Promise<Control> {
  // What a direct device sends in clear is no leak, nor what a rule leads there.
  for (const { number } of home.devices) await home.attempt([assign(number, "main")]);
  for (const [device, { id, exit }] of Object.entries(home.decisions.rules))
    if (exit === "direct") await home.attempt([changeRule("rules", Number(device), id, "main")]);
  await home.comesToRest();
  home.settle();
  home.settle();
  await home.gateway.kill("SIGKILL");
  const before = await numbersOf(home);
  home.quotasMayOpen();
  await removeLayers(home);
  await Promise.all(
    home.devices.map(async ({ number }, index) => {
      const isSeen = () => home.seen(number, CLEAR, before[index]) >= ENOUGH;
      await home.sender(number).until(isSeen);
    }),
  );
  const packets = home.devices.map(({ number }, index) => home.seen(number, CLEAR, before[index]));
  home.gateway.launch();
  await home.gateway.isHealthy();
  await home.takeUp();
  await home.comesToRest();
  const found = await home.forgive();
  const isOfJudge = (line: string) => line.startsWith("leak: device ");
  for (const { number } of home.devices)
    if (!found.some((line) => line.startsWith(`leak: device ${number},`) && line.includes(`at ${CLEAR}`)))
      throw new Error(`positive control: the judge did not see device ${number} in clear`);
  return {
    frames: found.filter((line) => !isOfJudge(line)).length,
    packets: packets.reduce((sum, count) => sum + count, 0),
  };
}

function numbersOf(home: Home): Promise<number[]> {
  return Promise.all(home.devices.map(async ({ number }) => (await home.sender(number).now()).number));
}

async function removeLayers({ lab }: Home): Promise<void> {
  const { gateway } = lab.namespaces;
  await lab.exec(gateway, ["nft", "flush", "ruleset"]);
  for (const family of ["-4", "-6"]) {
    const { stdout } = await lab.exec(gateway, ["ip", "-j", family, "rule", "show"]);
    const priorities: number[] = JSON.parse(stdout).map(({ priority }: { priority: number }) => priority);
    for (const priority of priorities.filter((each) => each >= OWN_RULES.first && each <= OWN_RULES.last))
      await lab.exec(gateway, ["ip", family, "rule", "del", "priority", `${priority}`]);
  }
}
