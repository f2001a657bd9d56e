import { existsSync } from "node:fs";

/** Where the program and its units are, which depends on how they came to the machine. */
export interface Layout {
  /** Makes the machine a gateway. */
  command: "install" | "setup";
  program: string;
  /** The folder of its units. */
  units: string;
}

/** `install` copies the program and writes its units. */
export const BY_HAND: Layout = {
  command: "install",
  program: "/usr/local/bin/portcullis",
  units: "/etc/systemd/system",
};

/** The Debian package has the program and its units, so `setup` does the rest. */
export const PACKAGED: Layout = {
  command: "setup",
  program: "/usr/bin/portcullis",
  units: "/usr/lib/systemd/system",
};

export const OWN_LAYOUT = process.execPath === PACKAGED.program ? PACKAGED : BY_HAND;

/** What to type to make this machine a gateway, or to change its settings by flags. */
export function setupCommand(flags = "", layout = OWN_LAYOUT): string {
  // A shell looks in /usr/local/bin first.
  const isHidden = layout === PACKAGED && existsSync(BY_HAND.program);
  const program = isHidden ? PACKAGED.program : "portcullis";
  return `sudo ${program} ${layout.command}${flags === "" ? "" : ` ${flags}`}`;
}

/** In which the access point of a first start is: no packet has a way out of it, nor into it but by its Wi-Fi. */
export const ACCESS_POINT_NAMESPACE = "portcullis-access-point";
