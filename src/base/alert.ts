import { type Static, Type } from "typebox";

/** The events that concern the protection and stored data: it was altered, failed or was restored. */
export const AlertCode = Type.Union([
  Type.Literal("firewall_altered"),
  Type.Literal("firewall_restored"),
  Type.Literal("routing_altered"),
  Type.Literal("routing_restored"),
  /** Another program's routing rule precedes the gateway's: only the firewall blocks. */
  Type.Literal("foreign_rule"),
  Type.Literal("foreign_rule_gone"),
  /** A route of the machine leads to a part of the LAN by another interface; it is not used. */
  Type.Literal("lan_route"),
  Type.Literal("lan_route_gone"),
  /** Another firewall drops the LAN's packets. */
  Type.Literal("forwarding_dropped"),
  Type.Literal("forwarding_restored"),
  /** Another router of the LAN leads devices past the tunnel. */
  Type.Literal("other_router"),
  Type.Literal("other_router_gone"),
  /** Another program undoes each repair. */
  Type.Literal("protection_contested"),
  /** No repair was undone for a while. */
  Type.Literal("protection_uncontested"),
  /** The kernel refuses a part of the protection. */
  Type.Literal("protection_failed"),
  Type.Literal("protection_restored"),
  /** The operator has turned the kill switch off, or on again. */
  Type.Literal("killswitch_off"),
  Type.Literal("killswitch_on"),
  /** The exit direct was allowed or withdrawn, or a device was given it or lost it. */
  Type.Literal("direct_changed"),
  /** Remote access was turned on or off, or a device may come in from the road or no longer. */
  Type.Literal("remote_changed"),
  /** No device can come in from the road any more, or they can again, or they must call another address. */
  Type.Literal("remote_lost"),
  Type.Literal("remote_found"),
  Type.Literal("remote_moved"),
  /** The gateway was logged in or out at a provider, or has another key there. */
  Type.Literal("account_changed"),
  /** A token was made or removed. */
  Type.Literal("access_changed"),
  /** A client of the interface has downloaded or restored a backup. */
  Type.Literal("backup_taken"),
  Type.Literal("backup_restored"),
  /** An address gets notifications, or no longer. */
  Type.Literal("notifications_changed"),
  /** Most of the kernel's connection table is used. */
  Type.Literal("connections_full"),
  Type.Literal("connections_free"),
  Type.Literal("state_damaged"),
  /** The disk is full or read-only, for example. Changes last only until the gateway restarts. */
  Type.Literal("state_not_saved"),
  Type.Literal("state_saved"),
  Type.Literal("list_damaged"),
  /** A tunnel did not move, or a device did not get its exit. */
  Type.Literal("schedule_failed"),
  /** A device has used up its quota of the day or month. The message says what it may still do. */
  Type.Literal("quota_used"),
  /** A device with several exits leaves by another of them. */
  Type.Literal("exit_moved"),
  /** A new list has less than half of the servers; the current one is kept. */
  Type.Literal("list_shrunk"),
]);
export type AlertCode = Static<typeof AlertCode>;

/** Raises an alert. */
export type Alarm = (code: AlertCode, message: string) => void;

/** Payload of a `security_alert`. */
export const SecurityAlert = Type.Object(
  {
    code: AlertCode,
    message: Type.String({ description: "one sentence for people" }),
    at: Type.String({ description: "ISO 8601" }),
  },
  { additionalProperties: false },
);
export type SecurityAlert = Static<typeof SecurityAlert>;
