import { S3Error } from './s3-error.ts';
import { findXmlText, type XmlElement } from './s3-xml.ts';

/** Names of a listing are encoded like values of a query, if the server says so. */
export function createNameReader(xml: XmlElement): (text: string) => string {
  if (findXmlText(xml, 'EncodingType') !== 'url') return (text) => text;
  return (text) => {
    try {
      return decodeURIComponent(text.replaceAll('+', ' '));
    } catch {
      throw new S3Error('The S3 server sent a name that is not encoded correctly.');
    }
  };
}
