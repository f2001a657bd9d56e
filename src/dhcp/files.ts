/** The DHCP server's unit. */
export const DHCP_UNIT = "portcullis-dhcp.service";
/** The file with the addresses that people have chosen for devices. */
export const HOSTS_FILE = "dhcp-hosts";

/** The DHCP server's files, as an installation places them. */
export const DHCP_FILES = {
  /** The server may not read the folders of the others. */
  config: "/etc/portcullis-dhcp.conf",
  leases: "/var/lib/portcullis-dhcp/leases",
  hosts: `/var/cache/portcullis/${HOSTS_FILE}`,
} as const;
