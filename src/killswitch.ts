import { askService } from "./operator.ts";
import { graphOf } from "./serve.ts";
import type { Settings } from "./settings.ts";

/** Puts the kill switch up or takes it down: by the running service, or directly where none runs. */
export async function setKillSwitch(settings: Settings, wanted: "on" | "off"): Promise<void> {
  process.umask(0o077);
  if (await askService(settings.stateDir, wanted)) return;
  const { controller, catalogue, memory } = await graphOf(settings);
  memory.saveKillSwitch(wanted === "on");
  await controller.start(catalogue.all());
}

/** Prints whether the kill switch stands; returns the exit code. */
export async function printKillSwitch(settings: Settings): Promise<number> {
  const { protection } = await graphOf(settings);
  const active = await protection.stands();
  process.stdout.write(
    active ? "The kill switch stands.\n" : "The kill switch is down: traffic may leave beside the tunnel.\n",
  );
  return active ? 0 : 1;
}
