/** What is in the archives below. */
export const CONFIG = "[Interface]\nPrivateKey = one\nAddress = 10.0.0.1/32\nAddress = 10.0.0.2/32\n";

/** As Python's zipfile writes them: a folder with two configurations and a text; one configuration; a text alone. */
export const ARCHIVES = {
  deflated:
    decoded(`UEsDBBQAAAAIAIMYIlwAAAAAAgAAAAAAAAAIAAAAc2VydmVycy8DAFBLAwQUAAAACACDGCJcqlyp2jUAAABJAAAAEQAAAHNlcnZlcnMvc2Ut
    MS5jb25mi/bMK0ktSktMTo3lCijKLEssSfVOrVSwVcjPS+VyTEkpSi0uBvIMDfRA0FDf2AhT1AgkCgBQSwMEFAAACAgAgxgiXKpcqdo1AAAASQAAABIAAABzZXJ2
    ZXJzL27DuC0yLmNvbmaL9swrSS1KS0xOjeUKKMosSyxJ9U6tVLBVyM9L5XJMSSlKLS4G8gwN9EDQUN/YCFPUCCQKAFBLAwQUAAAACACDGCJchqYQNgcAAAAFAAAA
    EgAAAHNlcnZlcnMvcmVhZG1lLnR4dMtIzcnJBwBQSwECFAMUAAAACACDGCJcAAAAAAIAAAAAAAAACAAAAAAAAAAAAAAAgAEAAAAAc2VydmVycy9QSwECFAMUAAAA
    CACDGCJcqlyp2jUAAABJAAAAEQAAAAAAAAAAAAAAgAEoAAAAc2VydmVycy9zZS0xLmNvbmZQSwECFAMUAAAICACDGCJcqlyp2jUAAABJAAAAEgAAAAAAAAAAAAAA
    gAGMAAAAc2VydmVycy9uw7gtMi5jb25mUEsBAhQDFAAAAAgAgxgiXIamEDYHAAAABQAAABIAAAAAAAAAAAAAAIAB8QAAAHNlcnZlcnMvcmVhZG1lLnR4dFBLBQYA
    AAAABAAEAPUAAAAoAQAAAAA=`),
  stored:
    decoded(`UEsDBBQAAAAAAIMYIlyqXKnaSQAAAEkAAAAJAAAAc2UtMy5jb25mW0ludGVyZmFjZV0KUHJpdmF0ZUtleSA9IG9uZQpBZGRyZXNzID0gMTAuMC4w
    LjEvMzIKQWRkcmVzcyA9IDEwLjAuMC4yLzMyClBLAQIUAxQAAAAAAIMYIlyqXKnaSQAAAEkAAAAJAAAAAAAAAAAAAACAAQAAAABzZS0zLmNvbmZQSwUGAAAAAAEA
    AQA3AAAAcAAAAAAA`),
  withoutConfigs:
    decoded(`UEsDBBQAAAAAAIMYIlyGphA2BQAAAAUAAAAKAAAAcmVhZG1lLnR4dGhlbGxvUEsBAhQDFAAAAAAAgxgiXIamEDYFAAAABQAAAAoAAAAAAAAA
    AAAAAIABAAAAAHJlYWRtZS50eHRQSwUGAAAAAAEAAQA4AAAALQAAAAAA`),
  /** 70,000 bytes out of 86. */
  large:
    decoded(`UEsDBBQAAAAIAIMYIlzGKXoqVgAAAHARAQAKAAAAbGFyZ2UuY29uZu3BMQEAAADCoDDr39ESnkABAAAAAAAAAAAAAAAAAAAAAAAA
    AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAG8DUEsBAhQDFAAAAAgAgxgiXMYpeipWAAAA
    cBEBAAoAAAAAAAAAAAAAAIABAAAAAGxhcmdlLmNvbmZQSwUGAAAAAAEAAQA4AAAAfgAAAAAA`),
};

/** An archive of one file whose directory lists that file so many times, all at the same place. */
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
