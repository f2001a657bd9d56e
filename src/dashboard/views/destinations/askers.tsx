import type { DnsStatus } from "../../../dns/schema.ts";
import { numberOf } from "../../format.ts";
import { say } from "../../language.ts";

/** Which devices ask, the one that asks most first, and how much of that is blocked. */
export function Askers({ devices }: Pick<DnsStatus, "devices">) {
  return (
    <details class="figures">
      <summary>
        {say("{count, plural, one {# device has asked} other {# devices have asked}}", {
          count: devices.length,
        })}
      </summary>
      <table>
        <thead>
          <tr>
            <th scope="col">{say("Device")}</th>
            <th scope="col">{say("Queries")}</th>
            <th scope="col">{say("Blocked")}</th>
          </tr>
        </thead>
        <tbody>
          {devices.map(({ id, name, asked, blocked }) => (
            <tr key={id}>
              <th scope="row">{name || id}</th>
              <td>{numberOf(asked)}</td>
              <td>{numberOf(blocked)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
