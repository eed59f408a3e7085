import { randomBytes, randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { testObjects } from '../../src/platform/objects/contract.ts';
import { S3Client, s3Times } from '../../src/platform/objects/s3/s3-client.ts';
import { openS3Objects } from '../../src/platform/objects/s3/s3-objects.ts';
import { PART_BYTES } from '../../src/platform/objects/s3/s3-uploads.ts';
import { startSwift } from './swift-server.ts';

const swift = await startSwift();

if ('skipped' in swift) {
  describe('objects in Swift', () => it.skip(swift.skipped, () => {}));
} else {
  afterAll(async () => await swift[Symbol.asyncDispose]());
  const open = () => openS3Objects({ ...swift.place, prefix: 'gate/é/' });
  async function* pieces(content: Buffer): AsyncGenerator<Buffer> {
    for (let at = 0; at < content.length; at += 100_000) yield content.subarray(at, at + 100_000);
  }

  testObjects('s3 of Swift', open);

  describe('objects in Swift', () => {
    it('are uploaded in parts, replaced and read in ranges', async () => {
      const objects = open();
      const key = `large/${randomUUID()} +%~\u{1f511}`;
      const content = randomBytes(2 * PART_BYTES + 7);
      expect(await objects.put(key, pieces(content))).toBe(content.length);
      const found = await objects.open(key, { start: PART_BYTES - 3, end: PART_BYTES + 4 });
      expect(found).toMatchObject({ key, bytes: content.length });
      expect((await buffer(found!.content)).equals(content.subarray(PART_BYTES - 3, PART_BYTES + 4))).toBe(true);
      expect(await objects.list({ prefix: 'large/', limit: 10 })).toMatchObject([{ key, bytes: content.length }]);
      await objects.put(key, pieces(Buffer.from('small')));
      expect((await buffer((await objects.open(key))!.content)).toString()).toBe('small');
      await objects.remove(key);
    });

    it('of interrupted uploads are removed', async () => {
      const client = new S3Client(swift.place, s3Times);
      const name = 'gate/é/interrupted';
      const { children } = await client.sendForXml({ method: 'POST', name, query: { uploads: '' } });
      const uploadId = children.find((child) => child.name === 'UploadId')!.text;
      const call = { method: 'PUT', name, query: { partNumber: '1', uploadId }, body: Buffer.from('part') } as const;
      await client.send(call, ({ body }) => body.dump());
      const find = { method: 'GET', name, query: { uploadId } } as const;
      await open().removeLeftovers(3_600_000);
      expect((await client.sendForXml(find)).name).toBe('ListPartsResult');
      await open().removeLeftovers(0);
      await expect(client.sendForXml(find)).rejects.toThrow('NoSuchUpload');
    });

    it('need the right secret', async () => {
      const objects = openS3Objects({ ...swift.place, secretAccessKey: 'wrong' });
      await expect(objects.list({ prefix: '', limit: 1 })).rejects.toThrow('403 SignatureDoesNotMatch');
    });
  });
}
