import type { DeviceList } from "../../../devices/schema.ts";
import { isBlocked, isOutside } from "../../../shared/exits.ts";
import { useOwner } from "../../access.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { someOf } from "../../format.ts";
import { say } from "../../language.ts";
import { AutosaveSelect } from "../../parts/autosave-select.tsx";
import { Button } from "../../parts/button.tsx";
import type { Question } from "../../parts/dialog.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { OnGateway } from "../../parts/on-gateway.tsx";
import { OnceMore } from "../../parts/once-more.tsx";
import { useExitOptions } from "../../protection.ts";

/** More names than this are counted. */
const MAX_NAMES = 4;

/** Where devices leave that nobody has assigned. */
export function DefaultExit({ list }: { list: DeviceList }) {
  const optionsOf = useExitOptions();
  const exits = list.exits.filter((exit) => !isOutside(exit));
  return (
    <section class="card default-exit">
      <h2>{say("Default exit")}</h2>
      <p>
        {say(
          isBlocked(list.default_exit)
            ? "New devices, and all without an exit of their own, are"
            : "New devices, and all without an exit of their own, go through",
        )}
      </p>
      <AutosaveSelect
        label={say("Default exit")}
        value={list.default_exit}
        options={optionsOf(exits)}
        from={list}
        save={async (exit) => {
          await change("PUT", "default-exit", { exit });
          void refresh("devices");
        }}
        ask={(exit) => (isBlocked(exit) ? questionAbout(list) : null)}
      />
    </section>
  );
}

function questionAbout({ devices }: DeviceList): Question {
  const names = devices.filter(({ assigned }) => !assigned).map(titleOf);
  return {
    title: say("Block everything without an exit of its own?"),
    text:
      names.length === 0
        ? say(
            "New devices will have no internet until you choose an exit for them. Devices with an exit of their own keep it. This page stays reachable.",
          )
        : say(
            "{names}, and each new device, will have no internet until you choose an exit for them. Devices with an exit of their own keep it. This page stays reachable.",
            { names: someOf(names, MAX_NAMES) },
          ),
    confirm: say("Block them"),
  };
}

/** Why `direct` is among the exits, or not. */
export function Direct({ isAllowed }: { isAllowed: boolean }) {
  const isOwner = useOwner() !== null;
  return (
    <section class="card words line">
      <h2>{say("The exit “direct”")}</h2>
      <p class="quiet">
        {say(
          isAllowed
            ? "Devices can be given this exit: they then leave outside every tunnel. The command ends that for all of them."
            : "It is not offered: it leads outside every tunnel, so it is a hole in the kill switch. The command allows it.",
        )}
      </p>
      {isOwner ? (
        isAllowed ? (
          <Withdraw />
        ) : (
          <Allow />
        )
      ) : (
        <OnDemand text={say("Change…")}>
          <OnGateway commands={[`sudo portcullis direct ${isAllowed ? "off" : "on"}`]} />
        </OnDemand>
      )}
    </section>
  );
}

function Allow() {
  return (
    <OnceMore
      ask={{
        title: say("Allow the exit “direct”?"),
        text: say(
          "Devices that are given it leave outside every tunnel, and your internet provider sees their traffic.",
        ),
        confirm: say("Allow it"),
      }}
      doing={say("Saving…")}
      work={(passphrase) => change("PUT", "owner/direct", { allowed: true, passphrase })}
    >
      {say("Allow “direct”…")}
    </OnceMore>
  );
}

function Withdraw() {
  return (
    <Button
      doing={say("Saving…")}
      work={async () => void (await change("PUT", "owner/direct", { allowed: false }))}
    >
      {say("Withdraw “direct”")}
    </Button>
  );
}
