import { useState } from "preact/hooks";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Select } from "../../parts/field.tsx";
import { Say } from "../../parts/say.tsx";

/** The time zone of schedules: that of the gateway's clock, or another one. */
export function Clock({ zone }: { zone: string }) {
  const own = canonical();
  const [wanted, setWanted] = useState(own);
  const zones = [...new Set([...Intl.supportedValuesOf("timeZone"), own, canonical(zone)])].sort();
  return (
    <section class="card words">
      <h2>{say("Time zone")}</h2>
      <p>
        {canonical(zone) === own ? (
          <Say
            message="Schedules follow the time of <strong>{zone}</strong>, as this device does."
            parts={{ zone }}
          />
        ) : (
          <Say
            message="Schedules follow the time of <strong>{zone}</strong>; this device has {own}."
            parts={{ zone, own }}
          />
        )}
      </p>
      <Select
        label={say("Another time zone")}
        value={wanted}
        onValue={setWanted}
        options={zones.map((each) => ({ value: each, text: each }))}
      />
      {wanted !== canonical(zone) && (
        <Button doing={say("Saving…")} work={() => change("PUT", "settings", { time_zone: wanted })}>
          {say("Use this time zone")}
        </Button>
      )}
    </section>
  );
}

/** One name of each zone, as the browser has it: UTC is Etc/UTC too. Without a name, this device's. */
function canonical(timeZone?: string): string {
  const options = timeZone === undefined ? {} : { timeZone };
  try {
    return new Intl.DateTimeFormat(undefined, options).resolvedOptions().timeZone;
  } catch {
    // A browser may be older than a zone.
    return timeZone ?? "UTC";
  }
}
