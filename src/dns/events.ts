import type { DnsStatus } from "./schema.ts";

export interface DnsEvents {
  /** What needs the gateway's own resolver has changed: rules for names, or lists. */
  lookups_changed: null;
  /** Something of the resolver, of the lists or of the log of queries. */
  dns_changed: null;
  dns_update: Pick<DnsStatus, "state" | "paused_until">;
}
