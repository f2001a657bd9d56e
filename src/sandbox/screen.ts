import type { Sandbox } from "./sandbox.ts";
import { INTERNET } from "./topology.ts";

/** What `try` prints: a walkthrough of commands to copy, 80 columns wide. */
export function screenOf(sandbox: Sandbox, port: number, bold: boolean): string {
  const { client } = sandbox.namespaces;
  const { files, servers } = sandbox;
  const strong = (text: string) => (bold ? `\x1b[1m${text}\x1b[0m` : text);
  const post = (path: string, body: string) => `curl $api${path} -H "$json" --data ${body}`;
  return `
${strong("Portcullis in a sandbox")}

A home with a computer, this gateway and a router, two VPN servers and an
internet, all in network namespaces of this machine. Nothing outside them is
touched. Open a second terminal as root (sudo -s) and paste:

  api=http://127.0.0.1:${port}/api
  json='Content-Type: application/json'
  home="ip netns exec ${client}"

${strong("1. No tunnel yet")}: the status says so, and the computer at home is refused.

  curl $api/status
  $home curl http://${INTERNET.host4}/

${strong("2. Connect")}: the internet now sees the VPN server instead of the home.

  curl $api/servers
  ${post("/connect", `'{"server":"${servers[0].hostname}"}'`)}
  $home curl http://${INTERNET.host4}/
  $home curl 'http://[${INTERNET.host6}]/'

${strong("3. Switch")} to another server: meanwhile no packet leaves outside a tunnel.

  ${post("/connect", `'{"server":"${servers[1].hostname}"}'`)}
  $home curl http://${INTERNET.host4}/

${strong("4. A server of your own")}, then one from a wg-quick file.

  cd ${sandbox.directory}
  ${post("/custom/add", `@${basename(files.custom)}`)}
  curl -X POST $api/provider/custom
  ${post("/connect", `'{"server":"${servers[0].customBody.name}"}'`)}

  ${post("/import", `@${basename(files.importBody)}`)}
  curl -X POST $api/provider/imported
  ${post("/connect", `'{"server":"${servers[1].importBody.name}"}'`)}

${strong("5. Disconnect")}: the kill switch stays in place, so the computer is refused again.

  curl -X POST $api/disconnect
  $home curl http://${INTERNET.host4}/

In a browser: http://127.0.0.1:${port}/swagger
${strong("Ctrl-C")} here stops the gateway and removes the sandbox.
`;
}

function basename(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
