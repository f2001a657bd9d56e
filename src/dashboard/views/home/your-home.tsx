import type { ComponentChild } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { DeviceList } from "../../../devices/schema.ts";
import type { Network } from "../../../http/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { useKept } from "../../kept.ts";
import { say } from "../../language.ts";
import { later } from "../../later.tsx";
import { ViewLink } from "../../parts/link.tsx";
import { Pending } from "../../parts/pending.tsx";
import { homeNowOf } from "../../picture/facts.ts";
import { Picture } from "../../picture/picture.tsx";
import { useIsDiverted, useIsExposed, useIsOpen } from "../../protection.ts";
import type { Answers, Loaded } from "../../store.ts";
import { useRates } from "../../traffic.ts";
import { ByExit, Past } from "./by-exit.tsx";

const AboutDevice = later((views) => views.AboutDevice);

type Rows = Answers["tunnels"]["tunnels"];

interface YourHomeProps {
  devices: Loaded<DeviceList>;
  tunnels: Loaded<Answers["tunnels"]>;
  others: Network["other_routers"];
}

/** Who leaves through which exit: a picture, or the same as a list. */
export function YourHome({ devices, tunnels, others }: YourHomeProps) {
  const [as, setAs] = useKept<"picture" | "list">("home", "picture");
  return (
    <section class="card your-home">
      <div class="your-home-head">
        <h2>{say("Your home now")}</h2>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in a line */}
        <div role="group" aria-label={say("Show it as")} class="choices">
          <button type="button" class="chip" aria-pressed={as === "picture"} onClick={() => setAs("picture")}>
            {say("Picture")}
          </button>
          <button type="button" class="chip" aria-pressed={as === "list"} onClick={() => setAs("list")}>
            {say("List")}
          </button>
        </div>
      </div>
      {devices.state !== "ready" ? (
        <Pending of={devices} />
      ) : tunnels.state !== "ready" ? (
        <Pending of={tunnels} />
      ) : (
        <Shown as={as} list={devices.value} tunnels={tunnels.value.tunnels} />
      )}
      {others.length > 0 && <Past others={others} />}
      <ViewLink to="devices">{say("All devices")}</ViewLink>
    </section>
  );
}

function Shown({ as, list, tunnels }: { as: "picture" | "list"; list: DeviceList; tunnels: Rows }) {
  const rows = <ByExit list={list} tunnels={tunnels} />;
  if (as === "list" || list.devices.length === 0) return rows;
  return <Drawn list={list} tunnels={tunnels} instead={rows} />;
}

function Drawn(props: { list: DeviceList; tunnels: Rows; instead: ComponentChild }) {
  const { list, tunnels, instead } = props;
  const isOpen = useIsExposed();
  const isWeakened = useIsOpen() && !isOpen;
  const isDiverted = useIsDiverted();
  const destinations = knownOf(useAnswer("destinations"))?.destinations;
  const rates = useRates();
  const home = useMemo(
    () =>
      homeNowOf({
        list,
        tunnels,
        destinations: destinations ?? [],
        isOpen,
        isWeakened,
        isDiverted,
        ...rates,
      }),
    [list, tunnels, destinations, isOpen, isWeakened, isDiverted, rates],
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const device = list.devices.find(({ id }) => id === chosen);
  return (
    <>
      <Picture home={home} instead={instead} onDevice={setChosen} />
      {device && <AboutDevice device={device} list={list} onClose={() => setChosen(null)} />}
    </>
  );
}
