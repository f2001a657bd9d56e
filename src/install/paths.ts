import { dirname } from "node:path";
import { ADDRESSES_FILE } from "../destinations/kept-addresses.ts";
import { DHCP_FILES, DHCP_UNIT } from "../dhcp/files.ts";
import { SETUP_NOTES } from "../system/setup.ts";

/** The files of an installation, except the program and its units (see `Layout`). */
export const PATHS = {
  environment: "/etc/portcullis/portcullis.env",
  managedList: "/etc/portcullis/managed.json",
  managedKey: "/etc/portcullis/managed.key",
  notify: "/etc/portcullis/notify",
  mqttPassword: "/etc/portcullis/mqtt.password",
  mqttCa: "/etc/portcullis/mqtt-ca.pem",
  sysctlsBefore: SETUP_NOTES.sysctlsBefore,
  version: SETUP_NOTES.version,
  portsBefore: SETUP_NOTES.portsBefore,
  portsFailed: SETUP_NOTES.portsFailed,
  sysctls: "/etc/sysctl.d/90-portcullis.conf",
  modules: "/etc/modules-load.d/portcullis.conf",
  udev: "/etc/udev/rules.d/90-portcullis.rules",
  networkd: "/etc/systemd/networkd.conf.d/portcullis.conf",
  nftables: "/etc/systemd/system/nftables.service.d/portcullis.conf",
  dhcpConfig: DHCP_FILES.config,
  state: "/var/lib/portcullis",
  /** A folder of files that are made again from the state. The DHCP server may read it. */
  cache: dirname(DHCP_FILES.hosts),
  /** Until the next boot. */
  addresses: `/run/wireguard/${ADDRESSES_FILE}`,
  /** A link to a folder that belongs to the DHCP server's user. */
  dhcpState: dirname(DHCP_FILES.leases),
} as const;

export const KILL_SWITCH_UNIT = "portcullis-killswitch.service";
export const CLOCK_UNIT = "portcullis-clock.service";
export const SERVICE_UNIT = "portcullis.service";
export const UNITS: readonly string[] = [KILL_SWITCH_UNIT, CLOCK_UNIT, SERVICE_UNIT, DHCP_UNIT];
export const UNITS_PATTERN = "portcullis*.service";
