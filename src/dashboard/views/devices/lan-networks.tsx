import type { LanNetwork, LanNetworkChange } from "../../../devices/network-schema.ts";
import type { DeviceList } from "../../../devices/schema.ts";
import { isOutside } from "../../../shared/exits.ts";
import { networkIdOf } from "../../../shared/network-id.ts";
import { knownOf, refresh, useAnswer } from "../../answers.ts";
import { change, pathOf } from "../../api.ts";
import { namesIn } from "../../exit-order.ts";
import { say } from "../../language.ts";
import { limitText } from "../../limit.ts";
import { AutosaveSelect } from "../../parts/autosave-select.tsx";
import { BySchedule, defaultText } from "../../parts/device-exit.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { useExitOptions, useExits } from "../../protection.ts";
import { quotaText } from "../../quota.ts";
import { RateForm } from "./limit-form.tsx";
import { AmountForm } from "./quota-form.tsx";

/** The option for no exit of its own; no tunnel has this name. */
const DEFAULT = "";
/** Of several exits, which the command line gives. */
const ORDER = ",";

/** A line for each network of the LAN, if there are several. */
export function LanNetworks({ list }: { list: DeviceList }) {
  const networks = knownOf(useAnswer("networks"))?.networks ?? [];
  if (networks.length < 2) return null;
  return (
    <section class="card networks">
      <h2>{say("Networks of the LAN")}</h2>
      <ul class="device-rows">
        {networks.map((network) => (
          <Row key={network.interface} network={network} list={list} />
        ))}
      </ul>
    </section>
  );
}

/** The interfaces of the meshes among them. */
export function useMeshes(): string[] {
  const networks = knownOf(useAnswer("networks"))?.networks ?? [];
  return networks.filter(({ mesh }) => mesh).map((network) => network.interface);
}

function Row({ network, list }: { network: LanNetwork; list: DeviceList }) {
  const title = networkTitle(network);
  const exitOf = useExits();
  const optionsOf = useExitOptions();
  const order = network.exit_order;
  const save = async (body: LanNetworkChange) => {
    await change("PUT", pathOf("networks", network.interface), body);
    void refresh("networks");
    void refresh("devices");
  };
  return (
    <li class="device lan-network">
      <span>
        <strong>{title}</strong> <span class="quiet">{network.devices}</span>
      </span>
      <AutosaveSelect
        label={say("Exit of {title}", { title })}
        value={order ? ORDER : network.assigned ? network.exit : DEFAULT}
        options={[
          ...(order ? [{ value: ORDER, text: say("in order: {exits}", { exits: namesIn(order) }) }] : []),
          { value: DEFAULT, text: defaultText(exitOf(list.default_exit)) },
          ...optionsOf(list.exits.filter((exit) => !isOutside(exit))),
        ]}
        from={network}
        save={(exit) => save({ exit: exit === DEFAULT ? null : exit === ORDER ? (order ?? null) : exit })}
      />
      <Switch
        label={say("The page for {title}", { title })}
        texts={[say("Only DNS and DHCP of the gateway"), say("May use this page")]}
        isOn={network.page}
        from={network}
        save={(page) => save({ page })}
      />
      <Switch
        label={say("Other networks for {title}", { title })}
        texts={[say("Reaches no other network"), say("Reaches others that do, too")]}
        isOn={network.others}
        from={network}
        save={(others) => save({ others })}
      />
      <Together network={network} title={title} />
    </li>
  );
}

/** What all of its devices have together, beside what each of them has. */
function Together({ network, title }: { network: LanNetwork; title: string }) {
  const { interface: link, rate, quota } = network;
  const [id, path] = [networkIdOf(link), pathOf("networks", link)];
  const limits = [...(rate ? [limitText(rate)] : []), ...(quota ? [quotaText(quota)] : [])];
  return (
    <div class="lan-together">
      {limits.length > 0 && (
        <p class="small">{say("All of it together: {limits}", { limits: limits.join("; ") })}</p>
      )}
      <BySchedule id={id} what="exit" />
      <BySchedule id={id} what="rate" />
      <BySchedule id={id} what="quota" />
      <OnDemand text={say("Change the limit…")} of={title}>
        <RateForm
          rate={rate}
          down={say("{device} receives at most, in Mbit/s", { device: title })}
          up={say("{device} sends at most, in Mbit/s", { device: title })}
          path={path}
        />
      </OnDemand>
      <OnDemand text={say("Change the quota…")} of={title}>
        <AmountForm
          quota={quota}
          label={say("Quota of {device}, in MB", { device: title })}
          blocked={say("They are blocked")}
          slower={say("They are slower")}
          down={say("{device} then receives at most, in Mbit/s", { device: title })}
          up={say("{device} then sends at most, in Mbit/s", { device: title })}
          path={path}
        />
      </OnDemand>
    </div>
  );
}

interface SwitchProps {
  label: string;
  texts: readonly [off: string, on: string];
  isOn: boolean;
  from: unknown;
  save: (isOn: boolean) => Promise<void>;
}

function Switch({ label, texts: [off, on], isOn, from, save }: SwitchProps) {
  return (
    <AutosaveSelect
      label={label}
      value={isOn ? "on" : "off"}
      options={[
        { value: "on", text: on },
        { value: "off", text: off },
      ]}
      from={from}
      save={(value) => save(value === "on")}
    />
  );
}

function networkTitle({ interface: link, name }: LanNetwork): string {
  return name === "" ? link : `${name} (${link})`;
}
