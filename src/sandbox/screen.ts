import { join } from "node:path";
import { FLAGS } from "../base/flags.ts";
import { SELF_COMMAND } from "../system/linux.ts";
import type { Sandbox } from "./sandbox.ts";
import { HOME, INTERNET, LAN } from "./topology.ts";

/** What `try` prints: a walkthrough of commands to copy, 80 columns wide. */
export function screenOf(sandbox: Sandbox, port: number, bold: boolean): string {
  const { files, servers } = sandbox;
  const [one, two] = servers;
  const strong = (text: string) => (bold ? `\x1b[1m${text}\x1b[0m` : text);
  const post = (path: string, body: string) => `curl $api${path} -H "$json" --data ${body}`;
  return `
${strong("Portcullis in a sandbox")}

A home with a laptop, a TV, a camera, this gateway and a router, two VPN
servers, an internet, and a phone away from home, all in network namespaces of
this machine. Nothing outside them is touched. Open a second terminal as root
(sudo -s) and paste:

  api=http://127.0.0.1:${port}/api
  json='Content-Type: application/json'
${definitions(sandbox, port)}
${strong("1. No tunnel yet")}: the status says so, and the computers at home are refused.

  curl $api/status
  laptop curl http://${INTERNET.host4}/

${strong("2. Connect")}: the internet now sees the VPN server instead of the home.

  curl $api/servers
  ${post("/connect", `'{"server":"${one.hostname}"}'`)}
  laptop curl http://${INTERNET.host4}/
  laptop curl 'http://[${INTERNET.host6}]/'

${strong("3. Switch")} to another server: meanwhile no packet leaves outside a tunnel.

  ${post("/connect", `'{"server":"${two.hostname}"}'`)}
  laptop curl http://${INTERNET.host4}/

${strong("4. Every device its own way out")}: the TV by a second tunnel, the camera nowhere.

  portcullis connect ${one.country}
  portcullis tunnel amsterdam connect ${two.hostname}
  portcullis device TV exit amsterdam
  portcullis device Camera exit blocked
  portcullis devices
  tv curl http://${INTERNET.host4}/
  camera curl http://${INTERNET.host4}/

${strong("5. A phone away from home")} reaches the laptop, and goes through Amsterdam.

  portcullis remote on --endpoint ${HOME.name}
  (umask 077; portcullis remote add phone --file > phone.conf)
  phone wg-quick up ./phone.conf
  phone ping -c 1 ${LAN.client4}
  portcullis device phone exit amsterdam
  phone curl http://${INTERNET.host4}/

${strong("6. At certain times")}: the TV is blocked until midnight.

  portcullis schedule tea exit TV blocked --at 00:00 --until 23:59
  portcullis schedules
  tv curl http://${INTERNET.host4}/
  portcullis schedule tea remove

${strong("7. A server of your own")}, then one from a wg-quick file.

  ${post("/custom/add", `@${basename(files.custom)}`)}
  curl -X POST $api/provider/custom
  ${post("/connect", `'{"server":"${one.customBody.name}"}'`)}

  ${post("/import", `@${basename(files.importBody)}`)}
  curl -X POST $api/provider/imported
  ${post("/connect", `'{"server":"${two.importBody.name}"}'`)}

${strong("8. Disconnect")}: the kill switch stays in place, so the laptop is refused again.

  curl -X POST $api/disconnect
  laptop curl http://${INTERNET.host4}/

In a browser: http://127.0.0.1:${port}/ (the interface: /swagger)
${strong("Ctrl-C")} here stops the gateway and removes the sandbox.
`;
}

/** Shell functions: a command on each computer and on the gateway, and this program as a command for this gateway. */
function definitions(sandbox: Sandbox, port: number): string {
  const { computers, namespaces, files } = sandbox;
  const lines = [
    // Files that are made on the way are removed with the sandbox, and nobody else can read them.
    `cd ${sandbox.directory}`,
    ...computers.map(({ name, namespace }) => `${name.toLowerCase()}() { ip netns exec ${namespace} "$@"; }`),
    `gateway() { ip netns exec ${namespaces.gateway} "$@"; }`,
    `phone() { ${files.phone} "$@"; }`,
    `portcullis() { ${SELF_COMMAND.join(" ")} "$@"; }`,
    `export PORTCULLIS_STATE_DIR=${join(sandbox.directory, "state")}`,
    ...(String(port) === FLAGS.port.fallback ? [] : [`export PORTCULLIS_URL=http://127.0.0.1:${port}`]),
  ];
  return lines.map((line) => `  ${line}\n`).join("");
}

function basename(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
