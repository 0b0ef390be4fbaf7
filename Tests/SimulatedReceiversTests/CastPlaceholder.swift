// Cast
