import { crc32, deflateRawSync } from "node:zlib";

/** What is in the archives below. */
export const CONFIG = `[Interface]
PrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=
Address = 10.0.0.1/32
Address = 10.0.0.2/32

[Peer]
PublicKey = xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=
Endpoint = 192.0.2.7:51820
AllowedIPs = 0.0.0.0/0
`;

/** Written by Python's zipfile: a folder with two configurations and a text file; one configuration; one text file. */
export const ARCHIVES = {
  deflated:
    decoded(`UEsDBBQAAAAIAIMYIlwAAAAAAgAAAAAAAAAIAAAAc2VydmVycy8DAFBLAwQUAAAACACDGCJcRX+Xn7wAAADlAAAAEQAA
    AHNlcnZlcnMvc2UtMS5jb25mZY3JDoIwFEX3/Qr3JkoLOCUs2ogRp6DRRCUugD4QrEVrnfh6bVyauzvJPScKpAaVxSkcUKiKR6xhCu+G13hTWbvrUVNstxMN2NFlYddi
    vrg2j5yo3SbIJyxndsbOJw9RzhXcbt8btlpmuG2Tf0oMRVEIoL61eyKK9Bd7rQNGXZVUm4ccO0dd8TLpQKffXZYzf6XxgjLnvL9eesPcQ77kl6qQ2nj7xGhb3YGLe8RC
    VIjqCTwITfTXtNoW+gBQSwMEFAAACAgAgxgiXEV/l5+8AAAA5QAAABIAAABzZXJ2ZXJzL27DuC0yLmNvbmZljckOgjAURff9CvcmSgs4JSzaiBGnoNFEJS6APhCsRWud
    +HptXJq7O8k9JwqkBpXFKRxQqIpHrGEK74bXeFNZu+tRU2y3Ew3Y0WVh12K+uDaPnKjdJsgnLGd2xs4nD1HOFdxu3xu2Wma4bZN/SgxFUQigvrV7Ior0F3utA0ZdlVSb
    hxw7R13xMulAp99dljN/pfGCMue8v156w9xDvuSXqpDaePvEaFvdgYt7xEJUiOoJPAhN9Ne02hb6AFBLAwQUAAAACACDGCJchqYQNgcAAAAFAAAAEgAAAHNlcnZlcnMv
    cmVhZG1lLnR4dMtIzcnJBwBQSwECFAMUAAAACACDGCJcAAAAAAIAAAAAAAAACAAAAAAAAAAAAAAAgAEAAAAAc2VydmVycy9QSwECFAMUAAAACACDGCJcRX+Xn7wAAADl
    AAAAEQAAAAAAAAAAAAAAgAEoAAAAc2VydmVycy9zZS0xLmNvbmZQSwECFAMUAAAICACDGCJcRX+Xn7wAAADlAAAAEgAAAAAAAAAAAAAAgAETAQAAc2VydmVycy9uw7gt
    Mi5jb25mUEsBAhQDFAAAAAgAgxgiXIamEDYHAAAABQAAABIAAAAAAAAAAAAAAIAB/wEAAHNlcnZlcnMvcmVhZG1lLnR4dFBLBQYAAAAABAAEAPUAAAA2AgAAAAA=`),
  stored:
    decoded(`UEsDBBQAAAAAAIMYIlxFf5ef5QAAAOUAAAAJAAAAc2UtMy5jb25mW0ludGVyZmFjZV0KUHJpdmF0ZUtleSA9IHlBbno1
    VEYrbFhYSnRlMTR0amkzemxNTnEraGQycllVSWdKQmdCM2ZCbWs9CkFkZHJlc3MgPSAxMC4wLjAuMS8zMgpBZGRyZXNzID0gMTAuMC4wLjIvMzIKCltQZWVyXQpQdWJs
    aWNLZXkgPSB4VElCQTVyYm9Vdm5INGh0b2RqYjZlNjk3UWpMRVJ0MU5BQjRtWnFwOERnPQpFbmRwb2ludCA9IDE5Mi4wLjIuNzo1MTgyMApBbGxvd2VkSVBzID0gMC4w
    LjAuMC8wClBLAQIUAxQAAAAAAIMYIlxFf5ef5QAAAOUAAAAJAAAAAAAAAAAAAACAAQAAAABzZS0zLmNvbmZQSwUGAAAAAAEAAQA3AAAADAEAAAAA`),
  withoutConfigs:
    decoded(`UEsDBBQAAAAAAIMYIlyGphA2BQAAAAUAAAAKAAAAcmVhZG1lLnR4dGhlbGxvUEsBAhQDFAAAAAAAgxgiXIamEDYFAAAABQAAAAoAAAAAAAAA
    AAAAAIABAAAAAHJlYWRtZS50eHRQSwUGAAAAAAEAAQA4AAAALQAAAAAA`),
  /** 70,000 bytes out of 86. */
  large:
    decoded(`UEsDBBQAAAAIAIMYIlzGKXoqVgAAAHARAQAKAAAAbGFyZ2UuY29uZu3BMQEAAADCoDDr39ESnkABAAAAAAAAAAAAAAAAAAAAAAAA
    AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAG8DUEsBAhQDFAAAAAgAgxgiXMYpeipWAAAA
    cBEBAAoAAAAAAAAAAAAAAIABAAAAAGxhcmdlLmNvbmZQSwUGAAAAAAEAAQA4AAAAfgAAAAAA`),
};

/** A deflated file. */
export function zipOf(name: string, content: string | Uint8Array): Uint8Array {
  const packed = deflateRawSync(content);
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(8, 4);
  fields.writeUInt32LE(crc32(content), 10);
  fields.writeUInt32LE(packed.length, 14);
  fields.writeUInt32LE(content.length, 18);
  fields.writeUInt16LE(name.length, 22);
  const file = Buffer.concat([Buffer.from("PK\x03\x04"), fields, Buffer.from(name), packed]);
  const directory = Buffer.concat([
    Buffer.from("PK\x01\x02\0\0"),
    fields,
    Buffer.alloc(14),
    Buffer.from(name),
  ]);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06");
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(file.length, 16);
  return new Uint8Array(Buffer.concat([file, directory, end]));
}

/** An archive of one file that its directory lists `times` times, at the same offset. */
export function listedOften(zip: Uint8Array, times: number): Uint8Array {
  const central = Buffer.from(zip).indexOf("PK\x01\x02");
  const end = Buffer.from(zip).indexOf("PK\x05\x06");
  const directory = zip.subarray(central, end);
  const many = Buffer.concat([
    zip.subarray(0, central),
    ...Array.from({ length: times }, () => directory),
    zip.subarray(end),
  ]);
  many.writeUInt16LE(times, many.length - 12);
  return new Uint8Array(many);
}

function decoded(base64: string): Uint8Array {
  return Uint8Array.fromBase64(base64);
}
