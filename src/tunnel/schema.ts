import { type Static, Type } from "typebox";
import { type Rows, schemaOf } from "../base/fact.ts";
import { MAIN_FACTS, ROOM_FACTS } from "./gateway-facts.ts";
import { ROW_FACTS, USE_FACTS } from "./tunnel-facts.ts";

/** GET /api/status: the seven fields of the contract, then the fields that follow from it. */
export const Status = documented({ ...MAIN_FACTS, ...ROOM_FACTS });
export type Status = Static<typeof Status>;

/** One tunnel of GET /api/tunnels; fields that a status has too mean the same, for this tunnel. */
export const TunnelRow = documented({ ...ROW_FACTS, ...USE_FACTS });
export type TunnelRow = Static<typeof TunnelRow>;

/** The OpenAPI document has what an answer always has first, and these last. */
function documented<Facts extends Rows>(rows: Facts) {
  const last = [
    ...["order", "last", "wanted_via", "wanted_transport", "wanted_quantum"],
    ...["uplink_quality", "forwarded_ports", "limited_devices"],
  ];
  const placeOf = (name: string) => (Type.IsOptional(rows[name]?.schema) ? 1 + last.indexOf(name) : -1);
  const names = Object.keys(rows).toSorted((one, other) => placeOf(one) - placeOf(other));
  return schemaOf(Object.fromEntries(names.map((name) => [name, rows[name]])) as Facts);
}
