import type { Sandbox } from "./sandbox.ts";
import { INTERNET } from "./topology.ts";

/** What `try` prints: commands to copy, in an order that tells a story, 80 columns wide. */
export function screenOf(sandbox: Sandbox, port: number, bold: boolean): string {
  const { client } = sandbox.namespaces;
  const { files, servers } = sandbox;
  const strong = (text: string) => (bold ? `\x1b[1m${text}\x1b[0m` : text);
  const post = (path: string, body: string) => `curl $api${path} -H "$json" --data ${body}`;
  return `
${strong("Portcullis in a box")}

A home with a computer, this gateway and a router, two VPN servers and an
internet: all inside this machine, nothing outside is touched. Open a second
terminal as root (sudo -s) and paste:

  api=http://127.0.0.1:${port}/api
  json='Content-Type: application/json'
  home="ip netns exec ${client}"

${strong("1. No tunnel yet")}: the gateway says so, and the computer at home is refused.

  curl $api/status
  $home curl http://${INTERNET.host4}/

${strong("2. Connect")}: now the internet sees the VPN server instead of the home.

  curl $api/servers
  ${post("/connect", `'{"server":"${servers[0].hostname}"}'`)}
  $home curl http://${INTERNET.host4}/
  $home curl 'http://[${INTERNET.host6}]/'

${strong("3. Move")}: another server, and no packet outside a tunnel meanwhile.

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

${strong("5. Disconnect")}: the kill switch stays, the computer is refused again.

  curl -X POST $api/disconnect
  $home curl http://${INTERNET.host4}/

In a browser: http://127.0.0.1:${port}/swagger
${strong("Ctrl-C")} here stops the gateway and removes the box.
`;
}

function basename(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
