import type { DeviceList } from "../../../devices/schema.ts";
import type { Network } from "../../../http/schema.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import { DIVERTED, downText, OPEN_TEXT, titleOf } from "../../exit.ts";
import { countOf, sentenceFrom, someOf } from "../../format.ts";
import { Icon, type IconName } from "../../parts/icon.tsx";
import { ViewLink } from "../../parts/link.tsx";
import { Pending } from "../../parts/pending.tsx";
import { useIsDiverted, useKillSwitchOff } from "../../protection.ts";
import { placeOf, type Tone } from "../../sentence.ts";
import type { Loaded } from "../../store.ts";

/** Who leaves by which exit. */
export function ByExit(props: {
  devices: Loaded<DeviceList>;
  tunnels: readonly TunnelRow[];
  others: Network["other_routers"];
}) {
  const { devices, tunnels, others } = props;
  return (
    <section class="card">
      <h2>Devices by exit</h2>
      {devices.state === "ready" ? (
        <Exits list={devices.value} tunnels={tunnels} />
      ) : (
        <Pending of={devices} />
      )}
      {others.length > 0 && <Past others={others} />}
      <ViewLink to="devices">All devices</ViewLink>
    </section>
  );
}

function Exits({ list, tunnels }: { list: DeviceList; tunnels: readonly TunnelRow[] }) {
  const isOff = useKillSwitchOff();
  const isDiverted = useIsDiverted();
  const groups = Map.groupBy(list.devices, ({ exit }) => exit);
  if (groups.size === 0)
    return (
      <p class="quiet">
        No device has been seen yet. A device appears with its first packet.{" "}
        <ViewLink to="setup">How to point devices here</ViewLink>
      </p>
    );
  const exits = [...groups].toSorted(
    ([one], [two]) => Number(two === list.default_exit) - Number(one === list.default_exit),
  );
  return (
    <ul class="rows">
      {exits.map(([exit, devices]) => {
        const { icon, tone, where } = wayOf(exit, tunnels, { isOff, isDiverted });
        return (
          <li key={exit} class={`row tone-${tone}`}>
            <Icon name={icon} />
            <div>
              <strong>
                {countOf(devices.length, "device")} {devices.length === 1 ? where.one : where.many}
              </strong>
              <p class="quiet">{someOf(devices.map(titleOf))}</p>
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** The gateway does not see what leaves by another router. */
function Past({ others }: { others: Network["other_routers"] }) {
  const [first] = others;
  const more = others.length - 1;
  return (
    <ul class="rows">
      <li class="row tone-partly">
        <Icon name="warning" />
        <div>
          <strong>Some devices may leave past the gateway</strong>
          <p class="quiet">
            {sentenceFrom(first?.found ?? "")}
            {more > 0 && ` So ${more === 1 ? "does" : "do"} ${countOf(more, "other")}.`}
          </p>
          <ViewLink to="checks">What to do</ViewLink>
        </div>
      </li>
    </ul>
  );
}

interface Way {
  icon: IconName;
  tone: Tone;
  /** What follows the number of devices. */
  where: { one: string; many: string };
}

interface Protection {
  /** Whether the kill switch is off. */
  isOff: boolean;
  isDiverted: boolean;
}

function wayOf(exit: string, tunnels: readonly TunnelRow[], { isOff, isDiverted }: Protection): Way {
  if (isDiverted && exit !== "blocked")
    return { ...DIVERTED, where: { one: DIVERTED.where, many: DIVERTED.where } };
  if (exit === "direct") return { icon: "warning", tone: "partly", where: leave("outside every tunnel") };
  const row = tunnels.find(({ name }) => name === exit);
  if (row?.unanswered)
    return { icon: "warning", tone: "partly", where: leave(`by ${placeOf(row)}, which carries nothing`) };
  if (row?.state === "connected")
    return { icon: "shield", tone: "protected", where: leave(`by ${placeOf(row)}`) };
  if (isOff) return OPEN;
  if (exit === "blocked") return { ...BLOCKED, where: are("blocked") };
  return { ...BLOCKED, where: are(`blocked: ${downText(exit, row)}`) };
}

const OPEN: Way = { icon: "warning", tone: "exposed", where: { one: OPEN_TEXT, many: OPEN_TEXT } };
const BLOCKED = { icon: "blocked", tone: "blocked" } as const;

function are(how: string): Way["where"] {
  return { one: `is ${how}`, many: `are ${how}` };
}

function leave(how: string): Way["where"] {
  return { one: `leaves ${how}`, many: `leave ${how}` };
}
