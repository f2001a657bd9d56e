import type { DnsStatus } from "../../../dns/schema.ts";
import { numberOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Table } from "../../parts/list.tsx";

/** Which devices ask, the one that asks most first, and how much of that is blocked. */
export function Askers({ devices }: Pick<DnsStatus, "devices">) {
  return (
    <details class="figures">
      <summary>
        {say("{count, plural, one {# device has asked} other {# devices have asked}}", {
          count: devices.length,
        })}
      </summary>
      <Table
        heads={[say("Device"), say("Queries"), say("Blocked")]}
        rows={devices.map(({ id, name, asked, blocked }) => [name || id, numberOf(asked), numberOf(blocked)])}
      />
    </details>
  );
}
