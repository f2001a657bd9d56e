import { useState } from "preact/hooks";
import { say } from "../../language.ts";
import { Select } from "../../parts/form.tsx";
import { OnGateway } from "../../parts/on-gateway.tsx";
import { Say } from "../../parts/say.tsx";

/** The time zone of the gateway's clock. */
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
            message="The gateway’s clock is that of <strong>{zone}</strong>, as that of this device. Schedules follow it."
            parts={{ zone }}
          />
        ) : (
          <Say
            message="The gateway’s clock is that of <strong>{zone}</strong>; this device has {own}. Schedules follow it."
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
      {wanted !== canonical(zone) && <OnGateway commands={[`sudo timedatectl set-timezone ${wanted}`]} />}
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
