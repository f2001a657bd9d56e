import { dirname } from "node:path";
import { DHCP_FILES } from "../dhcp/files.ts";

/** The files of an installation. */
export const PATHS = {
  program: "/usr/local/bin/portcullis",
  environment: "/etc/portcullis/portcullis.env",
  managedList: "/etc/portcullis/managed.json",
  managedKey: "/etc/portcullis/managed.key",
  notify: "/etc/portcullis/notify",
  mqttPassword: "/etc/portcullis/mqtt.password",
  mqttCa: "/etc/portcullis/mqtt-ca.pem",
  /** The sysctls before the installation. */
  sysctlsBefore: "/etc/portcullis/sysctls-before",
  sysctls: "/etc/sysctl.d/90-portcullis.conf",
  modules: "/etc/modules-load.d/portcullis.conf",
  udev: "/etc/udev/rules.d/90-portcullis.rules",
  networkd: "/etc/systemd/networkd.conf.d/portcullis.conf",
  nftables: "/etc/systemd/system/nftables.service.d/portcullis.conf",
  killSwitchUnit: "/etc/systemd/system/portcullis-killswitch.service",
  clockUnit: "/etc/systemd/system/portcullis-clock.service",
  serviceUnit: "/etc/systemd/system/portcullis.service",
  dhcpConfig: DHCP_FILES.config,
  dhcpUnit: "/etc/systemd/system/portcullis-dhcp.service",
  state: "/var/lib/portcullis",
  /** What is made again from the state; the DHCP server may read it. */
  cache: dirname(DHCP_FILES.hosts),
  /** A link to a folder that belongs to the DHCP server's user. */
  dhcpState: dirname(DHCP_FILES.leases),
} as const;

export const KILL_SWITCH_UNIT = "portcullis-killswitch.service";
export const CLOCK_UNIT = "portcullis-clock.service";
export const SERVICE_UNIT = "portcullis.service";
/** A pattern for all of them. */
export const UNITS = "portcullis*.service";
