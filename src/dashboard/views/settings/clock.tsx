import { useState } from "preact/hooks";
import { Select } from "../../parts/form.tsx";
import { OnGateway } from "../../parts/on-gateway.tsx";

/** The time zone of the gateway's clock. */
export function Clock({ zone }: { zone: string }) {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const [wanted, setWanted] = useState(own);
  const zones = [...new Set([...Intl.supportedValuesOf("timeZone"), own, zone])].sort();
  return (
    <section class="card words">
      <h2>Time zone</h2>
      <p>
        The gateway’s clock is that of <strong>{zone}</strong>
        {zone === own ? ", as that of this device." : `; this device has ${own}.`} Schedules follow it.
      </p>
      <Select
        label="Another time zone"
        value={wanted}
        onValue={setWanted}
        options={zones.map((each) => ({ value: each, text: each }))}
      />
      {wanted !== zone && <OnGateway commands={[`sudo timedatectl set-timezone ${wanted}`]} />}
    </section>
  );
}
