/** The DHCP server's unit. */
export const DHCP_UNIT = "portcullis-dhcp.service";
/** The file with the addresses that people have chosen for devices. */
export const HOSTS_FILE = "dhcp-hosts";
