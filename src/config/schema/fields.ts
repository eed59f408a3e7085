import { Type } from 'typebox';

export const milliseconds = (description: string, value: number, minimum = 1, more: { restart?: true } = {}) =>
  Type.Integer({ description, default: value, minimum, maximum: 2_147_483_647, ...more });

export const optionalMilliseconds = (description: string, minimum = 1) =>
  Type.Optional(Type.Integer({ description, minimum, maximum: 2_147_483_647 }));

export const byteField = (description: string, value: number, more: { restart?: true } = {}) =>
  Type.Integer({ description, default: value, minimum: 1024, maximum: 1_073_741_824, unit: 'bytes', ...more });

/** A price that must be set. */
export const requiredPrice = (description: string) =>
  Type.Union(
    [
      Type.Number({ minimum: 0 }),
      Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$', says: 'must be a decimal number' }),
    ],
    { description },
  );

export const priceField = (description: string) => Type.Optional(requiredPrice(description));

export const textField = (description: string, value?: string) =>
  Type.String({ description, minLength: 1, ...(value !== undefined && { default: value }) });

export const patterns = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { description, maxItems: 1024 }));

export const hosts = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 300 }), { description, default: [], maxItems: 1024 });

export const countField = (description: string, value: number, maximum: number) =>
  Type.Integer({ description, default: value, minimum: 1, maximum });
