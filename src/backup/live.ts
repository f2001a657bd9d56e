import type { Devices } from "../devices/devices.ts";
import { GatewayError } from "../errors.ts";
import type { Forwards } from "../forwards/forwards.ts";
import type { Schedules } from "../schedules/schedules.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import type { SavedState } from "../tunnel/saved-state.ts";
import type { State } from "../tunnel/state.ts";
import type { Tunnels } from "../tunnels/tunnels.ts";
import { type Changes, changesOf } from "./changes.ts";
import { type Contents, checkedContents, contentsOf } from "./contents.ts";
import { type Permissions, type Restored, restoreInto } from "./restore.ts";

interface Deps {
  store: Store;
  catalogue: Catalogue;
  tunnels: Tunnels;
  savedState: SavedState;
  host: Pick<Host, "now">;
  /** Makes managed servers use the account in the store. */
  takeUpAccount: () => Promise<void>;
  devices: Pick<Devices, "load">;
  forwards: Pick<Forwards, "load">;
  schedules: Pick<Schedules, "load">;
}

/** Backup and restore while the service runs. */
export interface LiveBackup {
  take(): Contents;
  /** What a restore would change; nothing is changed. */
  changes(contents: unknown): Promise<Changes>;
  restore(contents: unknown, may: Permissions): Promise<Restored>;
}

export function liveBackup(deps: Deps): LiveBackup {
  const { store, catalogue, tunnels, savedState, host, takeUpAccount, devices, forwards, schedules } = deps;
  return {
    take: () => contentsOf(store, host.now()),
    changes: async (contents) =>
      changesOf({ settings: store.settings(), devices: store.devices() }, await checkedContents(contents)),
    restore: async (contents, may) => {
      const checked = await checkedContents(contents);
      // The tunnel must not lose the server that it was made of, nor the memory of it.
      const up = tunnels.all().find(({ controller }) => controller.isAsked || !isDown(controller.state));
      if (up !== undefined) {
        const command = up === tunnels.main ? "disconnect" : `tunnel ${up.name} disconnect`;
        throw new GatewayError(
          "unable",
          `a tunnel is up or being brought up; disconnect first: portcullis ${command}`,
        );
      }
      const before = savedState.killSwitchWanted();
      // State that is still unsaved would later overwrite what is restored.
      savedState.save();
      savedState.assertSaved();
      const restored = restoreInto(store, checked, may);
      savedState.reload();
      tunnels.takeUpSaved();
      catalogue.reload();
      await takeUpAccount();
      await devices.load();
      await forwards.load();
      await schedules.load();
      if (savedState.killSwitchWanted() !== before)
        await tunnels.main.controller.setKillSwitch(savedState.killSwitchWanted());
      return restored;
    },
  };
}

function isDown({ name }: State): boolean {
  return name === "disconnected" || name === "failed";
}
