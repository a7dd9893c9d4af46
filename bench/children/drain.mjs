// A server that reads whatever it is sent and ends a connection when the other side does.

import net from 'node:net';

const server = net.createServer((socket) => {
  socket.on('error', () => socket.destroy());
  socket.resume();
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit());
